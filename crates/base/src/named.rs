//! Enums whose values have names in JSON and in messages.

/// Defines an enum from the names of its values: the list `ALL`, `as_str`, the number on the wire, and JSON.
#[macro_export]
macro_rules! named {
    ($(#[$attribute:meta])* $vis:vis enum $Enum:ident { $($(#[$doc:meta])* $Value:ident = $name:literal,)* }) => {
        $(#[$attribute])*
        $vis enum $Enum { $($(#[$doc])* #[serde(rename = $name)] $Value,)* }

        impl $Enum {
            /// All values, in the order of their numbers on the wire.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$Value),*];

            /// Returns the name in JSON.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$Value => $name,)* }
            }

            /// Returns the number on the wire, from 1.
            #[must_use]
            pub fn number(self) -> i32 {
                self as i32 + 1
            }
        }
    };
}
