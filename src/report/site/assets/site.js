"use strict";
// Stands before the script of every page of the site, and bytes.js of the reports behind it.
