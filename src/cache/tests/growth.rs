//! How the ring grows, and what it takes.

use super::*;

#[test]
fn memory_counts_ids() {
    let mut cache = VectorCache::new(CacheOptions { dimensions: 1, ..Default::default() }).unwrap();
    let mut add = |id: Option<&str>| {
        cache.add_named(&[1.0], id.map(Arc::from), Duration::ZERO).unwrap();
        cache.memory()
    };
    let empty = add(None);
    let named = add(Some(&"x".repeat(1000)));
    assert_eq!(named - empty, 1000);
    cache.remove(&"x".repeat(1000), Duration::ZERO);
    assert_eq!(cache.memory(), empty);
    cache.clear();
    assert_eq!(cache.memory(), 0);
}

#[test]
fn memory_is_what_is_allocated() {
    let mut cache = VectorCache::new(CacheOptions { dimensions: 3, ..Default::default() }).unwrap();
    for id in [None, Some("seven b")] {
        cache.add_named(&[1.0; 3], id.map(Arc::from), Duration::ZERO).unwrap();
    }
    let numbers = 4 * cache.rows.capacity();
    let (times, ids) = (16 * cache.added.capacity(), 16 * cache.ids.capacity());
    assert_eq!(cache.memory(), numbers + times + ids + 7);
}

#[test]
fn the_ring_doubles_up_to_the_capacity() {
    let options = CacheOptions { max_elements: 100, dimensions: 1, ttl: None };
    let mut cache = VectorCache::new(options).unwrap();
    let mut grown = vec![cache.slots()];
    for _ in 0..300 {
        cache.add(&[1.0], Duration::ZERO).unwrap();
        grown.push(cache.slots());
    }
    grown.dedup();
    assert_eq!(grown, [0, 16, 32, 64, 100]);
    let mut tiny = VectorCache::new(CacheOptions { max_elements: 3, ..options }).unwrap();
    tiny.add(&[1.0], Duration::ZERO).unwrap();
    assert_eq!(tiny.slots(), 3);
}

#[test]
fn growing_keeps_vectors_and_order_wherever_the_ring_starts() {
    let ttl = Some(Duration::from_millis(10));
    for gone in 0..16 {
        let options = CacheOptions { max_elements: 100, dimensions: 2, ttl };
        let mut cache = VectorCache::new(options).unwrap();
        let vector = |i: u16| [f32::from(i), 1.0];
        for i in 0..17 + gone {
            let millis = if i < gone { 0 } else { 1 + 9 * u64::from(i / 16) };
            cache.add(&vector(i), Duration::from_millis(millis)).unwrap();
        }
        let found = cache.entries(Duration::from_millis(10)).map(|entry| entry.vector.to_vec());
        let expected = (gone..17 + gone).map(|i| {
            let mut row = vec![0.0; 2];
            normalize_into(&mut row, &vector(i));
            row
        });
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{gone}");
        assert_eq!(cache.slots(), 32);
    }
}
