//! `s3`: with which keys and headers, and in which region, servers of S3 are asked for a query that says none.

use squall_remote::s3::S3Keys;
use squall_types::Result;

use crate::config::Element;

/// What is known of servers of S3, by the beginnings of URLs.
#[derive(Clone, Debug, Default)]
pub struct S3Endpoints {
    endpoints: Vec<S3Endpoint>,
    /// What holds where an endpoint does not say it.
    pub use_environment_credentials: Option<bool>,
}

/// One of them.
#[derive(Clone, Default)]
pub struct S3Endpoint {
    /// What URLs begin with.
    prefix: String,
    /// The keys.
    pub keys: Option<S3Keys>,
    /// The region.
    pub region: Option<String>,
    /// Headers of all requests.
    pub headers: Vec<(String, String)>,
    /// `no_sign_request`.
    pub is_unsigned: bool,
    /// `use_environment_credentials`.
    pub use_environment_credentials: Option<bool>,
}

impl std::fmt::Debug for S3Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys and headers are secrets.
        f.debug_struct("S3Endpoint").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl S3Endpoints {
    /// Takes the element's endpoints.
    ///
    /// # Errors
    /// Where a value is none.
    pub fn read(&mut self, element: &Element, warnings: &mut Vec<String>) -> Result<()> {
        for child in &element.children {
            match child.name.as_str() {
                "use_environment_credentials" => self.use_environment_credentials = Some(child.boolean()?),
                _ if !child.children.is_empty() => self.endpoints.extend(endpoint(child, warnings)?),
                name => warnings.push(format!("{}: element <s3/{name}> is ignored", child.origin)),
            }
        }
        Ok(())
    }

    /// What is known of the server of a URL: what is told of the longest beginning of it.
    pub fn of_url(&self, url: &str) -> S3Endpoint {
        let begins = |endpoint: &&S3Endpoint| {
            // A name that only begins like another is another's.
            let rest = url.strip_prefix(&*endpoint.prefix);
            rest.is_some_and(|rest| endpoint.prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
        };
        let longest = self.endpoints.iter().filter(begins).max_by_key(|endpoint| endpoint.prefix.len());
        let mut found = longest.cloned().unwrap_or_default();
        found.use_environment_credentials = found.use_environment_credentials.or(self.use_environment_credentials);
        found
    }
}

fn endpoint(element: &Element, warnings: &mut Vec<String>) -> Result<Option<S3Endpoint>> {
    let mut endpoint = S3Endpoint::default();
    let (mut id, mut secret, mut token) = (None, None, None);
    for child in &element.children {
        let text = || child.trimmed().to_owned();
        match child.name.as_str() {
            "endpoint" => endpoint.prefix = text(),
            "access_key_id" => id = Some(text()),
            "secret_access_key" => secret = Some(text()),
            "session_token" => token = Some(text()).filter(|token| !token.is_empty()),
            "region" => endpoint.region = Some(text()).filter(|region| !region.is_empty()),
            "no_sign_request" => endpoint.is_unsigned = child.boolean()?,
            "use_environment_credentials" => endpoint.use_environment_credentials = Some(child.boolean()?),
            "header" | "access_header" => match child.trimmed().split_once(':') {
                Some((name, value)) => endpoint.headers.push((name.trim().to_owned(), value.trim().to_owned())),
                None => return Err(child.bad_value("a header: Name: value")),
            },
            name => warnings.push(format!("{}: element <s3/{}/{name}> is ignored", child.origin, element.name)),
        }
    }
    if endpoint.prefix.is_empty() {
        warnings.push(format!("{}: <s3/{}> without an <endpoint> is ignored", element.origin, element.name));
        return Ok(None);
    }
    endpoint.keys = id.zip(secret).map(|(id, secret)| S3Keys { id, secret, token });
    Ok(Some(endpoint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_longest_beginning() {
        let text = "<s3><a><endpoint>https://h/</endpoint><access_key_id>a</access_key_id><secret_access_key>s</secret_access_key></a>
            <b><endpoint>https://h/bkt</endpoint><access_key_id>b</access_key_id><secret_access_key>s</secret_access_key>
            <region>eu-west-1</region><header>X-Key: v</header></b><c><no_sign_request>1</no_sign_request></c>
            <max_connections>5</max_connections></s3>";
        let (mut endpoints, mut warnings) = (S3Endpoints::default(), Vec::new());
        endpoints.read(&Element::parse("config.xml", text).unwrap(), &mut warnings).unwrap();
        assert_eq!(warnings.len(), 2);
        for (url, key) in [
            ("https://h/x/y", Some("a")),
            ("https://h/bkt/y", Some("b")),
            ("https://h/bkt2/y", Some("a")),
            ("https://h.evil.org/bkt/y", None),
            ("http://h/bkt/y", None),
        ] {
            assert_eq!(endpoints.of_url(url).keys.map(|keys| keys.id).as_deref(), key, "{url}");
        }
        let found = endpoints.of_url("https://h/bkt");
        assert_eq!((found.region.as_deref(), found.headers.len()), (Some("eu-west-1"), 1));
        assert!(!format!("{endpoints:?}").contains("\"s\""));
    }
}
