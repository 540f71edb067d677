//! Files of snapshots, and what a write that does not end leaves behind.

use std::{fs, io, io::Write as _, thread};

use super::*;
use crate::snapshot::file::replace;

/// The names of everything in a folder.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn what_is_saved_can_be_opened_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache é.snapshot");
    assert_eq!(load(&path), Ok(None));
    assert_eq!(open(&path, MODEL), Ok(None));
    for bytes in [small(), encode(&mut VectorCache::new(options(1, 1)).unwrap(), MODEL, NOW)] {
        save(&path, &bytes).unwrap();
        assert_eq!(load(&path).unwrap().as_ref(), Some(&bytes));
        let opened = open(&path, MODEL).unwrap().unwrap();
        assert_eq!(opened.entries(), decode(&bytes, MODEL).unwrap().entries());
    }
    assert_eq!(names(folder.path()), ["cache é.snapshot"]);
}

#[test]
fn a_file_that_is_no_snapshot_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    let place = path.display();
    save(&path, &small()).unwrap();
    let error = open(&path, "another").unwrap_err();
    assert_eq!(error.path(), Some(format!("{place}: model").as_str()));
    let other = open(&path, MODEL).unwrap().unwrap().into_cache(options(1, 1), NOW).unwrap_err();
    assert_eq!(other.to_string(), format!("{place}: dimensions: expected 1, got 2"));
    fs::write(&path, "").unwrap();
    let error = open(&path, MODEL).unwrap_err();
    assert_eq!(error.code(), "INVALID_SNAPSHOT");
    let expected = "expected at least 52 bytes, got 0 bytes: it is cut off";
    assert_eq!(error.to_string(), format!("{place}: {expected}"));
}

#[test]
fn an_interrupted_write_leaves_the_former_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    let (former, new) = (small(), encode(&mut small_cache(), "another", NOW));
    save(&path, &former).unwrap();
    for end in 0..=new.len() {
        let error = replace(&path, |file| {
            file.write_all(&new[..end])?;
            // What a crash at this instant would leave.
            assert_eq!(load(&path).unwrap().as_ref(), Some(&former), "{end} bytes written");
            Err(io::Error::other("no space left"))
        });
        assert_eq!(error.unwrap_err().to_string(), "no space left");
        assert_eq!(load(&path).unwrap().as_ref(), Some(&former), "failed after {end} bytes");
        assert_eq!(names(folder.path()), ["cache"], "failed after {end} bytes");
    }
}

#[test]
fn what_cannot_be_written_is_said_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("directory");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("file"), "").unwrap();
    for path in [directory.clone(), folder.path().join("missing/cache"), "".into()] {
        let error = save(&path, b"new").unwrap_err();
        let (place, message) = (path.display().to_string(), error.to_string());
        assert_eq!((error.code(), error.path()), ("SNAPSHOT_IO", Some(place.as_str())));
        assert!(message.starts_with(&format!("cannot write {place}: ")), "{message}");
    }
    let error = load(&directory).unwrap_err();
    assert_eq!(error.code(), "SNAPSHOT_IO");
    assert!(error.to_string().starts_with("cannot read "), "{error}");
    assert_eq!(names(folder.path()), ["directory"]);
}

#[test]
fn of_writes_at_a_time_one_wins_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    let contents: Vec<Vec<u8>> =
        (1..9).map(|byte: u8| vec![byte; usize::from(byte) * 9999]).collect();
    save(&path, &contents[0]).unwrap();
    thread::scope(|scope| {
        for bytes in &contents {
            scope.spawn(|| {
                for _ in 0..5 {
                    save(&path, bytes).unwrap();
                    let found = load(&path).unwrap().unwrap();
                    assert!(contents.contains(&found), "{} bytes", found.len());
                }
            });
        }
    });
    assert_eq!(names(folder.path()), ["cache"]);
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    save(&path, b"new").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
