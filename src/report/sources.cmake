# The page's style and script are files of their own, and part of the program.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/report/page/assets/page.css"
  "${CMAKE_CURRENT_SOURCE_DIR}/report/page/assets/page.js")
file(READ report/page/assets/page.css vramfit_page_style)
file(READ report/page/assets/page.js vramfit_page_script)
# One script in two literals: no compiler has to take one of more than 65,536 bytes.
set(vramfit_page_script_end "")
foreach(part script:bytes script:flame script:zoom script:trace_data script:trace_time script_end:trace_piles script_end:trace_stack
        script_end:trace_search script_end:trace_map script_end:trace_card script_end:run_flame script_end:overlay
        script_end:modules)
  string(REPLACE ":" ";" part "${part}")
  list(GET part 0 half)
  list(GET part 1 name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${CMAKE_CURRENT_SOURCE_DIR}/report/page/assets/${name}.js")
  file(READ "report/page/assets/${name}.js" vramfit_page_part)
  string(APPEND vramfit_page_${half} "${vramfit_page_part}")
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_SOURCE_DIR}/report/page/assets/trace.css" "${CMAKE_CURRENT_SOURCE_DIR}/report/page/assets/modules.css")
foreach(part trace modules)
  file(READ "report/page/assets/${part}.css" vramfit_page_part)
  string(APPEND vramfit_page_style "${vramfit_page_part}")
endforeach()
configure_file(report/page/assets/assets.cc.in "${CMAKE_CURRENT_BINARY_DIR}/report_page_assets.cc" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/report/site/assets/site.css"
  "${CMAKE_CURRENT_SOURCE_DIR}/report/site/assets/site.js" "${CMAKE_CURRENT_SOURCE_DIR}/report/site/assets/index.js"
  "${CMAKE_CURRENT_SOURCE_DIR}/report/site/assets/live.js")
file(READ report/site/assets/site.css vramfit_site_style)
file(READ report/site/assets/site.js vramfit_site_script)
file(READ report/page/assets/bytes.js vramfit_page_part)
string(APPEND vramfit_site_script "${vramfit_page_part}")
file(READ report/site/assets/index.js vramfit_site_index_script)
file(READ report/site/assets/live.js vramfit_site_live_script)
configure_file(report/site/assets/assets.cc.in "${CMAKE_CURRENT_BINARY_DIR}/report_site_assets.cc" @ONLY)

vramfit_room(report
  SOURCES check_report.cc environment_text.cc environments.cc exports/csv.cc exports/speedscope_json.cc exports/svg.cc exports/sweep_svg.cc exports/tensorboard.cc exports/trace_json.cc doctor_json.cc doctor_text.cc estimate_report.cc fit_json.cc fit/machines.cc fit/plans.cc fit/source.cc fit/verdict.cc fit_text.cc gpus.cc history_json.cc history_text.cc layout.cc page/axis.cc page/comparison_chart.cc page/comparison_section.cc page/finding_section.cc page/fit_section.cc page/html.cc page/overlay_chart.cc page/owners_bar.cc page/page.cc page/palette.cc page/plan_chart.cc page/run_section.cc page/time_plot.cc page/timeline_chart.cc site/index_page.cc site/live_json.cc site/live_page.cc site/sparkline.cc site/site_page.cc replay_json.cc replay_text.cc reach_text.cc run_json.cc own_counts.cc run_text.cc sweep_json.cc sweep_text.cc watch_csv.cc watch_json.cc watch_metrics.cc watch_peaks.cc watch_time.cc runtime_evidence_json.cc plan_schema_text.cc verify_report.cc
    modules_json.cc modules_text.cc page/module_section.cc page/module_table.cc page/network_drawing.cc page/network_layout.cc page/network_view.cc
    sweep_map.cc page/heat_map.cc page/sweep_lines.cc page/sweep_section.cc
    page/flame_chart.cc page/packed.cc page/trace_data.cc page/trace_section.cc
  TESTS check_report_test.cc exports/exports_test.cc exports/tensorboard_test.cc page/packed_test.cc fit_text_test.cc layout_test.cc page/axis_test.cc page/html_test.cc page/network_layout_test.cc page/network_view_test.cc modules_text_test.cc run_json_test.cc run_text_test.cc sweep_map_test.cc plan_schema_text_test.cc verify_report_test.cc page/comparison_chart_test.cc page/heat_map_test.cc page/overlay_chart_test.cc page/plan_chart_test.cc page/run_section_test.cc page/sweep_section_test.cc exports/sweep_svg_test.cc site/index_page_test.cc watch_metrics_test.cc testing/schema_check.cc
  ROOMS model)
target_sources(vramfit_report PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/report_page_assets.cc"
  "${CMAKE_CURRENT_BINARY_DIR}/report_site_assets.cc")
