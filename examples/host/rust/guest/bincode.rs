//! bincode 1 with its defaults, as far as the ABI uses it: little endian, integers of fixed width, a `u64` length before strings, byte
//! vectors and maps, one byte before an optional value.

/// Appends values to a byte vector.
#[derive(Default)]
pub struct Writer {
    pub bytes: Vec<u8>,
}

impl Writer {
    pub fn length(&mut self, length: usize) -> &mut Self {
        self.bytes.extend_from_slice(&(length as u64).to_le_bytes());
        self
    }

    pub fn flag(&mut self, flag: bool) -> &mut Self {
        self.bytes.push(flag.into());
        self
    }

    pub fn blob(&mut self, bytes: &[u8]) -> &mut Self {
        self.length(bytes.len()).bytes.extend_from_slice(bytes);
        self
    }

    pub fn string(&mut self, text: &str) -> &mut Self {
        self.blob(text.as_bytes())
    }

    pub fn optional(&mut self, text: Option<&str>) -> &mut Self {
        self.flag(text.is_some());
        match text {
            Some(text) => self.string(text),
            None => self,
        }
    }
}

/// Takes values off the front of a byte slice. Panics if they are not there: the host breaks the ABI then.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        assert!(count <= self.rest.len(), "the host's value ends too early");
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    pub fn u16(&mut self) -> u16 {
        let bytes = self.take(2);
        u16::from_le_bytes([bytes[0], bytes[1]])
    }

    pub fn length(&mut self) -> usize {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8));
        usize::try_from(u64::from_le_bytes(bytes)).expect("a length beyond the guest's memory")
    }

    pub fn blob(&mut self) -> &'a [u8] {
        let length = self.length();
        self.take(length)
    }
}
