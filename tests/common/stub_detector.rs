//! The methods of a detector that tests of clustering do not need: settings, texts, and words for people.

/// Implements the methods of a [`Detector`](leitong_fingerprint::Detector) that clustering does not call, or that
/// have one meaning for all detectors of tests. The fingerprints of such a detector are made by the tests.
macro_rules! stub_detector {
    ($name:literal) => {
        fn name(&self) -> &'static str {
            $name
        }
        fn fingerprint_settings(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
        fn near_settings(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
        fn fingerprint(&self, _: &leitong_text::segment::Terms) -> Option<Box<[u8]>> {
            None
        }
        fn distance(&self, distance: u32) -> f64 {
            f64::from(distance)
        }
        fn similarity(&self, _: &[u8], _: &[u8]) -> f64 {
            0.0
        }
        fn evidence(&self, _: &[u8], _: &[u8]) -> serde_json::Map<String, serde_json::Value> {
            serde_json::Map::new()
        }
        fn display(&self, fingerprint: &[u8]) -> String {
            format!("{fingerprint:02x?}")
        }
        fn threshold_setting(&self, _: u32) -> Option<String> {
            None
        }
    };
}
