"""Artifacts: torch opens them, and what is no sound artifact is refused before it is opened."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jit_runtime
import pytest
import torch
from jit_runtime import ArtifactError, Examples, Plan, Session
from jit_runtime.compilation.serialization import save as save_module
from jit_runtime.errors import DamagedArtifactError, NewerArtifactError
from jit_runtime.sessions.artifact import SEAL, save_artifact
from jit_runtime.sessions.container import seal
from sessions import Net, image, net

X = image()


@pytest.fixture(scope="module")
def session() -> Session:
    return jit_runtime.compile(net(), Examples(forward=X, encode=X), optimize="inference")


@pytest.fixture(scope="module")
def file(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("artifacts") / "net.pt"
    session.save(path)
    return path


@pytest.fixture
def copied(file: Path, tmp_path: Path) -> Path:
    path = tmp_path / "copy.pt"
    path.write_bytes(file.read_bytes())
    return path


def sealed_again(path: Path, **changed: object) -> None:
    """Write what an artifact says of itself anew, with a checksum that holds."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(content, "w") as after:
        for record in before.infolist():
            if record.filename.endswith(SEAL):
                data = json.loads(before.read(record))
            else:
                after.writestr(record, before.read(record))
    del data["checksum"]
    seal(content, SEAL, {**data, **changed})
    path.write_bytes(content.getvalue())


class TestSaveAndLoad:
    def test_a_loaded_session_is_as_the_saved_one(self, session: Session, file: Path):
        loaded = jit_runtime.load(file)
        for batch in (2, 3, 2):
            assert torch.equal(loaded(image(batch))["out"], session(image(batch))["out"])
            assert torch.equal(loaded.encode(image(batch)), session.encode(image(batch)))
        assert repr(loaded) == repr(session) and loaded.plan == session.plan
        assert loaded.signature == session.signature and loaded.figures == session.figures
        assert loaded.artifact.sources == session.artifact.sources
        assert loaded.artifact.made_by == session.artifact.made_by
        assert set(loaded.artifact.made_by) == {"tool", "torch", "python"}

    def test_it_warms_up_with_inputs_of_the_examples_forms(self, file: Path):
        assert jit_runtime.load(file).warmup().module.get_debug_state().execution_plans

    def test_in_memory(self, session: Session):
        buffer = io.BytesIO()
        jit_runtime.save(session, buffer)
        buffer.seek(0)
        assert torch.equal(jit_runtime.load(buffer)(X)["out"], session(X)["out"])

    @pytest.mark.filterwarnings("ignore:`torch.jit.load:DeprecationWarning")
    @pytest.mark.filterwarnings("ignore:`torch.jit.load:FutureWarning")
    def test_torch_opens_it(self, session: Session, file: Path):
        extra = {SEAL: "", "jit_runtime/plan.txt": ""}
        plain = torch.jit.load(file, _extra_files=extra)
        assert torch.equal(plain(X)["out"], session(X)["out"])
        assert json.loads(extra[SEAL])["plan"]["device"] == "cpu"
        assert "device=cpu\nfreeze=1\n" in extra["jit_runtime/plan.txt"].decode()

    def test_the_plan_is_kept(self, session: Session, tmp_path: Path):
        plan = Plan(threads=1, memory_format="channels_last", rewrites=("a", "b"))
        save_artifact(replace(session.artifact, plan=plan), tmp_path / "net.pt")
        loaded = jit_runtime.load(tmp_path / "net.pt")
        assert loaded.plan == plan
        assert (
            "rewrites=a,b\n"
            in zipfile.ZipFile(tmp_path / "net.pt").read("net/extra/jit_runtime/plan.txt").decode()
        )

    def test_two_saves_differ_in_nothing(self, session: Session, tmp_path: Path):
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
            session.save(tmp_path / folder / "net.pt")
        assert (tmp_path / "a/net.pt").read_bytes() == (tmp_path / "b/net.pt").read_bytes()

    def test_a_save_that_fails_leaves_what_was_there(self, session: Session, tmp_path: Path):
        (tmp_path / "net.pt").write_bytes(b"before")
        broken = replace(session.artifact, figures={"seconds": float("nan")})
        with pytest.raises(ValueError, match="JSON"):
            save_artifact(broken, tmp_path / "net.pt")
        assert [p.name for p in tmp_path.iterdir()] == ["net.pt"]
        assert (tmp_path / "net.pt").read_bytes() == b"before"

    def test_what_is_saved_is_whole_or_as_it_was(self, tmp_path: Path):
        path = tmp_path / "net.pt"
        path.write_bytes(b"before")
        with pytest.raises(TypeError):  # of torch, in the midst of saving
            jit_runtime.save(net(), path, _extra_files={"a": 1})
        assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]
        link = tmp_path / "link.pt"
        link.symlink_to("net.pt")
        jit_runtime.save(net(), link)
        assert link.is_symlink() and jit_runtime.load(path).signature.methods
        with pytest.raises(OSError, match=r"null: is no ordinary file"):
            jit_runtime.save(net(), os.devnull)
        with pytest.raises(IsADirectoryError, match="is a folder"):
            jit_runtime.save(net(), tmp_path)

    def test_a_file_that_is_replaced_while_it_is_read_is_read_again(
        self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        path = tmp_path / "net.pt"
        session.save(path)
        threads = replace(session.artifact, plan=Plan(threads=1))

        def load_module(*args: Any, **kwargs: Any) -> torch.jit.ScriptModule:
            monkeypatch.undo()
            save_artifact(threads, path)
            return jit_runtime.load_module(*args, **kwargs)

        monkeypatch.setattr("jit_runtime.sessions.artifact.load_module", load_module)
        assert jit_runtime.load(path).plan == threads.plan

    def test_a_folder_must_be_there(self, session: Session, tmp_path: Path):
        with pytest.raises(FileNotFoundError, match=r"net\.pt: there is no folder"):
            session.save(tmp_path / "none" / "net.pt")

    def test_the_files_mode_is_that_of_any_new_file(self, file: Path, tmp_path: Path):
        (tmp_path / "new").touch()
        assert file.stat().st_mode == (tmp_path / "new").stat().st_mode

    def test_a_plain_torchscript_file_runs_by_the_default_plan(self, tmp_path: Path):
        model = jit_runtime.compile(net())
        jit_runtime.save(model, tmp_path / "net.pt")
        loaded = jit_runtime.load(tmp_path / "net.pt")
        assert loaded.plan == Plan(freeze=False) and set(loaded.signature.methods) == {
            "forward",
            "encode",
        }
        assert torch.equal(loaded(X)["out"], model.eval()(X)["out"])
        assert set(loaded.module.state_dict()) == set(model.state_dict())


def state_dict(path: Path) -> None:
    torch.save(Net().state_dict(), path)


def old_state_dict(path: Path) -> None:
    torch.save(Net().state_dict(), path, _use_new_zipfile_serialization=False)


def zip_archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/b.txt", "b")


def text(path: Path) -> None:
    path.write_text("weights\n")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (state_dict, "a checkpoint of torch.save, which has no code"),
        (old_state_dict, "not a TorchScript file"),
        (zip_archive, "a zip archive without TorchScript"),
        (text, "not a TorchScript file"),
        (Path.touch, "empty"),
        (Path.mkdir, "a folder, not an artifact"),
        (lambda path: None, "there is no such file"),
    ],
    ids=["state_dict", "old state_dict", "zip", "text", "empty", "folder", "missing"],
)
def test_other_files_are_refused(make: Callable[[Path], object], words: str, tmp_path: Path):
    make(tmp_path / "net.pt")
    with pytest.raises(ArtifactError, match=rf"net\.pt: {words}") as refused:
        jit_runtime.load(tmp_path / "net.pt")
    assert "\n" not in str(refused.value)


class Unpickled(Exception):
    """Raised where torch begins to read a file."""


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be given to torch."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise Unpickled

    monkeypatch.setattr(torch.jit, "load", refuse)


@pytest.mark.usefixtures("unread")
class TestDamage:
    def test_a_sound_one_is_read(self, file: Path):
        with pytest.raises(Unpickled):
            jit_runtime.load(file)

    @pytest.mark.parametrize("part", [0.0001, 0.1, 0.5, 0.9, 0.999])
    def test_cut_off(self, copied: Path, part: float):
        os.truncate(copied, int(copied.stat().st_size * part) + 4)
        with pytest.raises(DamagedArtifactError, match=r"copy\.pt: cut off or damaged"):
            jit_runtime.load(copied)

    def test_a_flipped_bit(self, copied: Path):
        content = bytearray(copied.read_bytes())
        content[len(content) // 2] ^= 1
        copied.write_bytes(content)
        with pytest.raises(DamagedArtifactError, match="does not match its checksum"):
            jit_runtime.load(copied)

    @pytest.mark.parametrize("record", ["code", "data", "constants"])
    def test_a_record_that_a_zip_tool_replaced(self, copied: Path, record: str):
        content = io.BytesIO()
        with zipfile.ZipFile(copied) as before, zipfile.ZipFile(content, "w") as after:
            for one in before.infolist():
                data = before.read(one)
                is_it = one.filename.startswith((f"net/{record}/", f"net/{record}.pkl"))
                after.writestr(one, data + b"\n" if is_it else data)
        copied.write_bytes(content.getvalue())
        with pytest.raises(DamagedArtifactError, match="does not match its checksum"):
            jit_runtime.load(copied)

    def test_a_record_that_was_added(self, copied: Path):
        with zipfile.ZipFile(copied, "a") as archive:
            archive.writestr("net/code/evil.py", "")
        with pytest.raises(DamagedArtifactError, match="does not match its checksum"):
            jit_runtime.load(copied)

    def test_a_seal_that_was_removed(self, copied: Path):
        content = io.BytesIO()
        with zipfile.ZipFile(copied) as before, zipfile.ZipFile(content, "w") as after:
            for one in before.infolist():
                if not one.filename.endswith(SEAL):
                    after.writestr(one, before.read(one))
        copied.write_bytes(content.getvalue())
        with pytest.raises(DamagedArtifactError, match="does not match its checksum"):
            jit_runtime.load(copied)

    def test_a_newer_format(self, copied: Path):
        sealed_again(copied, format=2, tool="9.9")
        with pytest.raises(NewerArtifactError, match=r"a newer jit-transpile, 9\.9, in format 2"):
            jit_runtime.load(copied)

    def test_a_plan_of_a_newer_version(self, copied: Path):
        sealed_again(copied, plan={**Plan().to_json(), "warp": 9})
        with pytest.raises(NewerArtifactError, match=r"copy\.pt: the plan has fields .* \(warp\)"):
            jit_runtime.load(copied)

    @pytest.mark.parametrize("changed", [{"plan": None}, {"signature": {"forward": {}}}], ids=str)
    def test_a_description_that_is_none(self, copied: Path, changed: dict[str, object]):
        sealed_again(copied, **changed)
        with pytest.raises(DamagedArtifactError, match="its description is damaged"):
            jit_runtime.load(copied)


def test_whatever_byte_changes_it_is_refused_or_means_nothing(file: Path, session: Session):
    content, expected = file.read_bytes(), session(X)["out"]
    chosen = random.Random(0)
    for _ in range(300):
        damaged = bytearray(content)
        damaged[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
        try:
            loaded = jit_runtime.load(io.BytesIO(damaged))
        except ArtifactError:
            continue
        # dates and permissions in the archive's directory
        assert torch.equal(loaded(X)["out"], expected)


def test_what_torch_cannot_read_is_said_in_a_line(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "net.pt", "w") as archive:
        archive.writestr("net/code/x.py", "")
        archive.writestr("net/data.pkl", b"")
        archive.writestr("net/version", "3")
    with pytest.raises(ArtifactError, match=r"net\.pt: torch .* cannot load it: ") as refused:
        jit_runtime.load(tmp_path / "net.pt")
    assert "\n" not in str(refused.value)


def test_one_for_another_device(session: Session, tmp_path: Path):
    bound = replace(session.artifact, plan=Plan(fusion="onednn_ops"))
    save_artifact(bound, tmp_path / "net.pt")
    with pytest.raises(ArtifactError, match=r"net\.pt: .*oneDNN's operators.*the cpu alone"):
        jit_runtime.load(tmp_path / "net.pt", device="cuda")
    cuda = Plan(device="cuda", cuda_graphs=True, tf32=True)
    save_artifact(replace(session.artifact, plan=cuda), tmp_path / "cuda.pt")
    loaded = jit_runtime.load(tmp_path / "cuda.pt", device="cpu")
    assert loaded.plan == Plan() and torch.equal(loaded(X)["out"], session(X)["out"])


def test_save_module_is_torchs_way(tmp_path: Path):
    save_module(net(), tmp_path / "net.pt", _extra_files={"note": b"hello"})
    extra = {"note": ""}
    assert jit_runtime.load_module(tmp_path / "net.pt", _extra_files=extra).training
    assert extra["note"] == b"hello"
