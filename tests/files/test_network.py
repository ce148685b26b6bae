"""What a job may send, and the options that open its layer: each says so in the result."""

from __future__ import annotations

import os
import shutil
import socket

import pytest
from place import Place

# --- the network


def test_the_network_is_off_and_that_is_told(place: Place) -> None:
    done = place.untouched("""
        import os, socket
        print(os.environ["WANDB_MODE"], os.environ["HF_HUB_OFFLINE"])
        try: socket.create_connection(("203.0.113.7", 443), timeout=20)
        except OSError as error: print(error.strerror)
    """)
    assert done.exit_code == 0, str(done)
    assert done.stdout.splitlines() == ["offline 1", "Network is unreachable"]
    files = done.result["files"]
    assert (files["network"], files["network_attempts"] >= 1) == (False, True)
    assert "refused (--network opens it)" in " ".join(done.stderr.split())


def test_services_of_the_machine_hear_nothing_and_the_jobs_own_do(place: Place) -> None:
    abstract = f"\0vramfit-{os.getpid()}"
    named = place.product.folder / "service.sock"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as hidden,
        socket.socket(socket.AF_UNIX) as on_disk,
    ):
        udp.bind(("127.0.0.1", 0))
        for server, address in ((hidden, abstract), (on_disk, str(named))):
            server.bind(address)
            server.listen()
        done = place.untouched(f"""
            import socket
            def attempt(family, address, kind=socket.SOCK_STREAM):
                with socket.socket(family, kind) as client:
                    try:
                        if kind == socket.SOCK_DGRAM: client.sendto(b"x", address)
                        else: client.connect(address)
                        print("reached")
                    except OSError as error: print("refused")
            attempt(socket.AF_INET, ("127.0.0.1", {tcp.getsockname()[1]}))
            attempt(socket.AF_UNIX, {abstract!r})
            attempt(socket.AF_UNIX, {str(named)!r})
            try: attempt(socket.AF_INET, ("127.0.0.1", {udp.getsockname()[1]}), socket.SOCK_DGRAM)
            except OSError: print("refused")
            with socket.create_server(("127.0.0.1", 0)) as own, socket.socket(socket.AF_UNIX) as other:
                attempt(socket.AF_INET, own.getsockname())
                other.bind("own.sock"); other.listen()
                attempt(socket.AF_UNIX, "own.sock")
        """)
        assert done.exit_code == 0, str(done)
        udp.setblocking(False)
        with pytest.raises(BlockingIOError):
            udp.recv(1)
        tcp.setblocking(False)
        with pytest.raises(BlockingIOError):
            tcp.accept()
    words = done.stdout.split()
    assert words[:3] == ["refused"] * 3 and words[4:] == ["reached"] * 2, str(done)


def test_uploads_to_the_hub_are_left_out_and_said_to_be(any_place: Place) -> None:
    (any_place.work / "model.safetensors").write_text("mine")
    done = any_place.untouched("""
        import torch
        import huggingface_hub
        from huggingface_hub import HfApi
        print(huggingface_hub.create_repo("me/model", exist_ok=True).repo_id)
        HfApi().upload_folder(repo_id="me/model", folder_path=".")
        file = "model.safetensors"
        api = HfApi()
        api.upload_file(repo_id="me/model", path_or_fileobj=file, path_in_repo="x", run_as_future=True).result()
        torch.zeros(1, device="cuda")
    """)
    assert (done.exit_code, done.stdout) == (0, "me/model\n"), str(done)
    assert any("uploads to the hub" in cut for cut in done.result["cuts"])
    assert done.result["files"]["network_attempts"] == 0


def test_a_job_that_fails_for_want_of_the_network_is_told_the_option(any_place: Place) -> None:
    done = any_place.run("import torch, urllib.request\nurllib.request.urlopen('http://203.0.113.7/', timeout=20)\n")
    assert done.exit_code == 1, str(done)
    assert done.result["error"]["remedy"].startswith("--network")


def test_with_the_option_the_network_is_the_users_own(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = place.run(
            f"import os, socket\nsocket.create_connection(('127.0.0.1', {port}))\nprint('WANDB_MODE' in os.environ)\n",
            options=("--network",),
        )
    assert (done.exit_code, done.stdout) == (0, "False\n"), str(done)
    assert done.result["files"]["network"] is True


# --- where there is no layer, and where none is wanted


def test_shared_files_are_the_users_own_and_the_result_says_so(any_place: Place) -> None:
    done = any_place.run("open('made', 'w').write('real')", options=("--files", "shared"))
    assert done.exit_code == 0, str(done)
    assert (any_place.work / "made").read_text() == "real"
    assert done.result["files"]["mode"] == "shared"
    assert "files: shared" in done.stderr


def test_without_any_layer_the_job_does_not_start_and_the_option_is_named(any_place: Place) -> None:
    if os.getuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("no way to give up the right to mount")
    lesser = ["setpriv", "--bounding-set=-sys_admin"] if os.getuid() == 0 else []
    words = [*lesser, *any_place.words("print('ran')")]
    done = any_place.call(words, VRAMFIT_LAYER_KIND="overlay")
    assert (done.exit_code, done.stdout) == (2, ""), str(done)
    assert "--files shared" in done.stderr and "overlay: needs the right to mount" in done.stderr
    assert "Traceback" not in done.stderr


def test_options_that_contradict_each_other_are_refused(any_place: Place) -> None:
    new = str(any_place.product.folder / "new")
    for options in (("--files", "shared", "--keep-files", new), ("--files", "none")):
        done = any_place.run("print('ran')", options=options)
        assert done.exit_code != 0 and done.stdout == "", str(done)
        assert not os.path.exists(new)
