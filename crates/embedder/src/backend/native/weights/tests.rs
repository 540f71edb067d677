//! Weights of the right layout, and others.

use super::*;

/// Two tensors with a gap between them: 72 bytes, in memory that is aligned for both.
fn two() -> Vec<f32> {
    let mut bytes = vec![1, 0, 254, 255, 0, 128, 255, 127];
    bytes.resize(64, 9);
    bytes.extend([1.5_f32, -0.0].into_iter().flat_map(f32::to_le_bytes));
    bytemuck::pod_collect_to_vec(&bytes)
}

fn read(file: &[u8]) -> Result<(&[i16], &[f32]), String> {
    let mut tensors = Tensors::of(file);
    let read = (tensors.next(4)?, tensors.next(2)?);
    tensors.finish()?;
    Ok(read)
}

#[test]
fn next_reads_tensors_in_order() {
    let (words, scale) = (&[1, -2, i16::MIN, i16::MAX][..], &[1.5, -0.0][..]);
    assert_eq!(read(bytemuck::cast_slice(&two())), Ok((words, scale)));
    let places = [(0, 1, 0), (8, 65_535, 64), (8, 65_536, 65_536), (65_536, 65_536, 65_536)];
    for (end, bytes, start) in places {
        assert_eq!(aligned(end, bytes), start, "{bytes} bytes behind {end}");
    }
}

#[test]
fn next_and_finish_refuse_files_of_another_layout() {
    let longer = [two(), vec![0.0]].concat();
    let longer: &[u8] = bytemuck::cast_slice(&longer);
    for (file, end) in [(longer, 72), (&longer[..70], 72), (&longer[..7], 8), (&[], 8)] {
        let error = format!("expected {end} bytes of tensors, got {}", file.len());
        assert_eq!(read(file), Err(error));
    }
}
