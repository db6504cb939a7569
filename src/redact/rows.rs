//! Which parts of a row are names, labels and texts.
//!
//! What the contract closes stays: field names, and label fields as long as they hold one word
//! ([`super::fields`]). `run` and `rid` are the router's own random ids and stay, so that a
//! redacted journal has the same runs and requests.

use std::borrow::Cow;

use serde_json::Value;

use super::check::may_name;
use super::detect::Detected;
use super::fields::{Role, is_field_word, is_label, role_of};
use super::redactor::Redactor;
use super::tokens::is_word;
use crate::journal::build::{self, Build};
use crate::journal::declare::{Declared, EachText, leaves};
use crate::journal::event::Event;
use crate::journal::object::Object;
use crate::journal::row::Row;

impl Redactor {
    /// Redacts every string of a row, keys included.
    pub fn row(&self, row: &mut Row<'_>) {
        match row {
            Row::Build(row) => Of { redactor: self, client: None }.build(row),
            Row::Terminal(row) => {
                let client = row.client_rid.take();
                row.each_text(&mut Of { redactor: self, client: client.as_deref() });
                row.client_rid = client.map(|id| Cow::Owned(self.client(&id)));
            }
            Row::Event(row) => {
                let client = row.detail.get("client_rid").and_then(Value::as_str).map(str::to_owned);
                Of { redactor: self, client: client.as_deref() }.event(row);
            }
        }
    }
}

impl Redactor {
    /// Redacts the value of a field of that name, of a request of that client.
    pub fn field(&self, name: &str, value: &mut Value, client: Option<&str>) {
        Of { redactor: self, client }.value(value, role_of(name));
    }
}

/// A row of one client, or of none.
struct Of<'r> {
    redactor: &'r Redactor,
    client: Option<&'r str>,
}

impl Of<'_> {
    fn build(&self, row: &mut Build) {
        for ((_, leaf), value) in leaves(build::FIELDS).into_iter().zip(&mut row.values) {
            if let Some(value) = value {
                self.value(value, leaf.role);
            }
        }
        self.object(&mut row.extra);
    }

    fn event(&self, row: &mut Event) {
        self.replace_unless_id(&mut row.run);
        self.replace_unless_label(&mut row.event);
        if let Some(iid) = &mut row.iid {
            *iid = self.redactor.engine(iid).to_owned();
        }
        self.object(&mut row.detail);
    }

    /// Redacts the members of an object that no struct knows, by their keys.
    fn object(&self, object: &mut Object) {
        for (key, mut value) in std::mem::take(object) {
            self.value(&mut value, role_of(&key));
            let redacted = if is_field_word(&key) { None } else { self.redacted(&key) };
            insert(object, redacted.unwrap_or(key), value);
        }
    }

    fn engine_keys(&self, object: &mut Object) {
        for (key, mut value) in std::mem::take(object) {
            self.value(&mut value, Role::Text);
            insert(object, self.redactor.engine(&key).to_owned(), value);
        }
    }

    fn value(&self, value: &mut Value, role: Role) {
        match (value, role) {
            (Value::String(id), Role::Engine) => *id = self.redactor.engine(id).to_owned(),
            (Value::String(id), Role::Client) => *id = self.redactor.client(id),
            (Value::String(name), Role::Host) => self.name(name, Detected::Host),
            (Value::String(name), Role::User) => self.name(name, Detected::User),
            (Value::String(label), Role::Label) => self.replace_unless_label(label),
            (Value::String(text), _) => self.replace(text),
            (Value::Object(object), Role::EngineKeys) => self.engine_keys(object),
            (Value::Object(object), _) => self.object(object),
            (Value::Array(items), role) => {
                for item in items {
                    let is_name = matches!(role, Role::Engine | Role::Host | Role::User) && item.is_string();
                    self.value(item, if is_name { role } else { Role::Text });
                }
            }
            (Value::Null | Value::Bool(_) | Value::Number(_), _) => {}
        }
    }

    /// A host or a user, whatever it is called.
    fn name(&self, name: &mut String, detected: Detected) {
        self.replace(name);
        if may_name(name) {
            detected.placeholder().clone_into(name);
        }
    }

    fn redacted(&self, text: &str) -> Option<String> {
        match self.redactor.text_of_client(text, self.client) {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        }
    }

    fn replace<T: AsRef<str> + From<String>>(&self, text: &mut T) {
        if let Some(redacted) = self.redacted(text.as_ref()) {
            *text = redacted.into();
        }
    }

    fn replace_unless_label<T: AsRef<str> + From<String>>(&self, text: &mut T) {
        if !is_label(text.as_ref()) {
            self.replace(text);
        }
    }

    /// The router's own ids are one word, whatever an engine is called.
    fn replace_unless_id<T: AsRef<str> + From<String>>(&self, text: &mut T) {
        if !text.as_ref().chars().all(is_word) {
            self.replace(text);
        }
    }
}

impl EachText for Of<'_> {
    fn text(&mut self, role: Role, text: &mut Cow<'_, str>) {
        match role {
            Role::Run | Role::Identity => self.replace_unless_id(text),
            Role::Label | Role::Schema => self.replace_unless_label(text),
            Role::Engine => *text = Cow::Owned(self.redactor.engine(text).to_owned()),
            Role::Client => *text = Cow::Owned(self.redactor.client(text)),
            Role::Host => self.name(text.to_mut(), Detected::Host),
            Role::User => self.name(text.to_mut(), Detected::User),
            _ => self.replace(text),
        }
    }

    fn object(&mut self, role: Role, object: &mut Object) {
        match role {
            Role::EngineKeys => self.engine_keys(object),
            _ => Of::object(self, object),
        }
    }
}

/// Two keys can become one, as two addresses do: the later one gets a number.
fn insert(object: &mut Object, key: String, value: Value) {
    let mut free = key.clone();
    let mut number = 1;
    while object.contains_key(&free) {
        number += 1;
        free = format!("{key} ({number})");
    }
    object.insert(free, value);
}
