//! JSON, read into a tree. Enough for objects of an API server: numbers keep their text.

#[derive(Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// Text that is not JSON, and where.
#[derive(Debug)]
pub struct Malformed {
    pub offset: usize,
}

/// Deeper values are refused, because each level takes part of the guest's stack of 1 MiB.
const DEEPEST: usize = 1000;

impl Value {
    /// A member; nothing if there is none, or this is no object.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// A member that is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a member that is an array; none if there is no such member.
    pub fn list(&self, name: &str) -> &[Value] {
        match self.get(name) {
            Some(Value::Array(elements)) => elements,
            _ => &[],
        }
    }
}

/// A string as JSON, with its quotes.
pub fn quoted(text: &str) -> String {
    let escape = |character: char| match character {
        '"' => "\\\"".to_string(),
        '\\' => "\\\\".to_string(),
        '\0'..='\x1f' => format!("\\u{:04x}", character as u32),
        _ => character.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// Reads exactly one value.
pub fn parse(bytes: &[u8]) -> Result<Value, Malformed> {
    let mut parser = Parser {
        bytes,
        offset: 0,
        depth: 0,
    };
    let value = parser.value()?;
    parser.skip_space();
    if parser.offset == bytes.len() {
        Ok(value)
    } else {
        parser.fail()
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    offset: usize,
    depth: usize,
}

impl Parser<'_> {
    fn fail<T>(&self) -> Result<T, Malformed> {
        Err(Malformed {
            offset: self.offset,
        })
    }

    fn peek(&self) -> u8 {
        // No JSON has a zero byte, so it stands for the end.
        self.bytes.get(self.offset).copied().unwrap_or(0)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.offset += 1;
        }
    }

    fn expect(&mut self, text: &str) -> Result<(), Malformed> {
        if !self.bytes[self.offset..].starts_with(text.as_bytes()) {
            return self.fail();
        }
        self.offset += text.len();
        Ok(())
    }

    /// Skips a byte if it is next.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_next = self.peek() == byte;
        if is_next {
            self.offset += 1;
        }
        is_next
    }

    fn value(&mut self) -> Result<Value, Malformed> {
        self.skip_space();
        match self.peek() {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => Ok(Value::String(self.string()?)),
            b't' => self.expect("true").map(|()| Value::Bool(true)),
            b'f' => self.expect("false").map(|()| Value::Bool(false)),
            b'n' => self.expect("null").map(|()| Value::Null),
            b'-' | b'0'..=b'9' => Ok(Value::Number(self.number())),
            _ => self.fail(),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value, Malformed>,
    ) -> Result<Value, Malformed> {
        if self.depth == DEEPEST {
            return self.fail();
        }
        self.offset += 1;
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, Malformed> {
        let mut members = Vec::new();
        if self.takes(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            if !self.takes(b':') {
                return self.fail();
            }
            members.push((name, self.value()?));
            if self.takes(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.takes(b',') {
                return self.fail();
            }
        }
    }

    fn array(&mut self) -> Result<Value, Malformed> {
        let mut elements = Vec::new();
        if self.takes(b']') {
            return Ok(Value::Array(elements));
        }
        loop {
            elements.push(self.value()?);
            if self.takes(b']') {
                return Ok(Value::Array(elements));
            }
            if !self.takes(b',') {
                return self.fail();
            }
        }
    }

    /// The characters that numbers are made of: the API server writes no other runs of them.
    fn number(&mut self) -> String {
        let start = self.offset;
        while matches!(self.peek(), b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') {
            self.offset += 1;
        }
        String::from_utf8_lossy(&self.bytes[start..self.offset]).into_owned()
    }

    fn string(&mut self) -> Result<String, Malformed> {
        self.expect("\"")?;
        let mut text = Vec::new();
        loop {
            let byte = self.peek();
            match byte {
                b'"' => break,
                b'\\' => {
                    let character = self.escape()?;
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
                0..=0x1f => return self.fail(),
                _ => text.push(byte),
            }
            self.offset += 1;
        }
        self.offset += 1;
        String::from_utf8(text).or_else(|_| self.fail())
    }

    fn escape(&mut self) -> Result<char, Malformed> {
        self.offset += 1;
        let letter = self.peek();
        self.offset += 1;
        match letter {
            b'"' | b'\\' | b'/' => Ok(letter.into()),
            b'b' => Ok('\x08'),
            b'f' => Ok('\x0c'),
            b'n' => Ok('\n'),
            b'r' => Ok('\r'),
            b't' => Ok('\t'),
            b'u' => {
                let unit = self.unit()?;
                let is_pair = (0xd800..0xdc00).contains(&unit)
                    && self.bytes[self.offset..].starts_with(b"\\u");
                if !is_pair {
                    // Half of a pair is no character.
                    return Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                self.offset += 2;
                let low = self.unit()?;
                let code = 0x10000 + ((unit - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
                Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            _ => self.fail(),
        }
    }

    fn unit(&mut self) -> Result<u32, Malformed> {
        let digits = self
            .bytes
            .get(self.offset..self.offset + 4)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.map(|digits| u32::from_str_radix(digits, 16)) {
            Some(Ok(unit)) => {
                self.offset += 4;
                Ok(unit)
            }
            _ => self.fail(),
        }
    }
}
