//! The endpoints of a service, for its reference.

/// One endpoint of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointDescription {
    /// Its method.
    pub method: String,
    /// Its path; `{id}` stands for one part.
    pub path: String,
    /// The operations that a request to it can be. Which one depends on its parameters or on the state.
    pub operations: Vec<String>,
    /// The parameters that it accepts, in the query, the form or the top level of the JSON body.
    pub parameters: Vec<String>,
    /// Parameters of the real API that it refuses as unsupported.
    pub unsupported: Vec<String>,
}

/// An endpoint of a real API, whether the service has it or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealEndpoint {
    /// Its method.
    pub method: String,
    /// Its path; `{id}` stands for one part, `{path}` for the rest of the path.
    pub path: String,
}

impl From<(String, String)> for RealEndpoint {
    fn from((method, path): (String, String)) -> Self {
        RealEndpoint { method, path }
    }
}

impl EndpointDescription {
    /// An endpoint and its operations. The parameters are given in groups.
    #[must_use]
    pub fn new(method: &str, path: &str, operations: &[&str], parameters: &[&[&str]]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        let mut parameters: Vec<String> = parameters.iter().flat_map(|group| owned(group)).collect();
        parameters.sort_unstable();
        parameters.dedup();
        EndpointDescription {
            method: method.to_owned(),
            path: path.to_owned(),
            operations: owned(operations),
            parameters,
            unsupported: Vec::new(),
        }
    }

    /// Adds parameters that the endpoint refuses as unsupported. Parts of a parameter that it does not have,
    /// `card[x]` without `card`, are left out.
    #[must_use]
    pub fn without(mut self, unsupported: &[&str]) -> Self {
        let has = |part: &str| match part.split_once('[') {
            Some((root, _)) => self.parameters.iter().any(|name| name == root),
            None => true,
        };
        let refused = unsupported.iter().filter(|name| has(name)).map(|name| (*name).to_owned());
        self.unsupported = refused.collect();
        self.parameters.retain(|name| !self.unsupported.contains(name));
        self
    }

    /// Whether it is this endpoint of the real API.
    #[must_use]
    pub fn is(&self, real: &RealEndpoint) -> bool {
        let shape = |path: &str| -> Vec<String> {
            let part = |part: &str| if part.starts_with('{') { "{}".to_owned() } else { part.to_owned() };
            path.split('/').map(part).collect()
        };
        self.method == real.method && shape(&self.path) == shape(&real.path)
    }

    /// A path of this endpoint: each name in braces is replaced.
    #[must_use]
    pub fn example_path(&self, id: &str) -> String {
        let part = |part: &str| match part.strip_prefix('{').and_then(|part| part.split_once('}')) {
            Some((_, after)) => format!("{id}{after}"),
            None => part.to_owned(),
        };
        self.path.split('/').map(part).collect::<Vec<_>>().join("/")
    }
}
