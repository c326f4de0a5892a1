//! Reads and checks the token that clients send as `Authorization: Bearer …`. No message shows it.

use std::fmt;
use std::hint::black_box;

use leitong_pipeline::config::ApiConfig;

/// Minimum length of a token, in bytes. Shorter ones can be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// The token of the API.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Box<[u8]>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(not shown)")
    }
}

impl Token {
    /// Reads the token that the settings name, if they name one.
    ///
    /// # Errors
    /// A message with the fault and the remedy. It does not show the token.
    pub fn from_config(config: &ApiConfig) -> Result<Option<Self>, String> {
        let (named, text) = match (&config.token_env, &config.token_file) {
            (Some(variable), _) => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                // The setting may contain the token itself by mistake, so it is not shown.
                if variable.is_empty() || !variable.chars().all(is_name) {
                    return Err(
                        "api.token_env: is not a name of an environment variable; use letters, digits and `_`"
                            .to_owned(),
                    );
                }
                let text = std::env::var(variable)
                    .map_err(|_| "api.token_env: the variable is not set; set it to the token".to_owned())?;
                ("api.token_env", text)
            }
            (None, Some(path)) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    format!("api.token_file = {:?}: cannot be read: {error}", path.display().to_string())
                })?;
                ("api.token_file", text)
            }
            (None, None) => return Ok(None),
        };
        let token = text.trim();
        if token.len() < TOKEN_BYTES_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "{named}: the token must have at least {TOKEN_BYTES_MIN} ASCII characters and no spaces; make one with: \
                 openssl rand -hex 32"
            ));
        }
        Ok(Some(Self(token.as_bytes().into())))
    }

    /// Checks that an `Authorization` header contains this token. The time that this takes depends only on the
    /// length of what the client sent, which the client knows.
    ///
    /// # Errors
    /// The header contains no token, or another one.
    pub fn check(&self, authorization: Option<&[u8]>) -> Result<(), TokenFault> {
        let given = authorization.and_then(|value| {
            let (scheme, token) = value.split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token.trim_ascii())
        });
        let given = given.filter(|token| !token.is_empty()).ok_or(TokenFault::Missing)?;
        let mut different = u8::from(given.len() != self.0.len());
        for (at, byte) in given.iter().enumerate() {
            different |= black_box(byte ^ self.0[at % self.0.len()]);
        }
        if black_box(different) == 0 { Ok(()) } else { Err(TokenFault::Wrong) }
    }
}

/// The reason why a client is not authorized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFault {
    /// The request has no token.
    Missing,
    /// The request has another token.
    Wrong,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_token_is_accepted() {
        let token = Token(b"0123456789abcdef".as_slice().into());
        assert_eq!(token.check(Some(b"Bearer 0123456789abcdef")), Ok(()));
        assert_eq!(token.check(Some(b"bearer  0123456789abcdef ")), Ok(()));
        for wrong in [
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Bearer 0123456789abcdef0123456789abcdef",
            "Bearer 0123456789abcdeg",
            "Bearer Bearer 0123456789abcdef",
        ] {
            assert_eq!(token.check(Some(wrong.as_bytes())), Err(TokenFault::Wrong), "{wrong:?}");
        }
        for missing in ["", "Bearer", "Bearer ", "Basic 0123456789abcdef", "0123456789abcdef"] {
            assert_eq!(token.check(Some(missing.as_bytes())), Err(TokenFault::Missing), "{missing:?}");
        }
        assert_eq!(token.check(None), Err(TokenFault::Missing));
        assert_eq!(format!("{token:?}"), "Token(not shown)");
    }

    #[test]
    fn tokens_are_read_from_files_and_errors_do_not_show_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let read =
            || Token::from_config(&ApiConfig { token_file: Some(path.clone()), ..ApiConfig::default() });
        assert!(read().expect_err("no file").contains("cannot be read"));
        std::fs::write(&path, "hunter2\n").expect("written");
        let fault = read().expect_err("too short");
        assert!(fault.contains("16 ASCII characters") && !fault.contains("hunter2"), "{fault}");
        std::fs::write(&path, "hunter2hunter2hunter2\n").expect("written");
        assert_eq!(read(), Ok(Some(Token(b"hunter2hunter2hunter2".as_slice().into()))));
        let of_env =
            Token::from_config(&ApiConfig { token_env: Some("hunter-2".into()), ..ApiConfig::default() });
        assert!(!of_env.expect_err("no name").contains("hunter"));
        assert_eq!(Token::from_config(&ApiConfig::default()), Ok(None));
    }
}
