//! Routes: a method and a path of fixed and named segments.

/// The methods that a route can have.
pub(super) const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// A method and a path.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) method: &'static str,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Given(String),
    Named(String),
}

/// The result of looking up a request's method and path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RouteMatch {
    Route(usize),
    OtherMethods(Vec<&'static str>),
    NoRoute,
}

impl Route {
    /// Reads `POST /tickets/{id}/close`; the error says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let (method, path) = text.split_once(' ').ok_or("a route is a method, a space and a path")?;
        let method = METHODS.into_iter().find(|known| *known == method).ok_or_else(|| {
            format!(
                "`{}` is not a method: it can be {}",
                yaml_reader::shown(method),
                yaml_reader::listed(METHODS)
            )
        })?;
        let path = path.trim_start().strip_prefix('/').ok_or("a path begins with a slash")?;
        let mut route = Route { method, parts: Vec::new() };
        if path.is_empty() {
            return Ok(route);
        }
        for part in path.split('/') {
            let part = match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) if is_name(name) && !route.names().any(|other| other == name) => {
                    Part::Named(name.to_owned())
                }
                Some(_) => {
                    return Err(
                        "each name in braces consists of letters, digits and underscores and occurs once"
                            .to_owned(),
                    );
                }
                None if part.is_empty() => return Err("a path has no empty parts".to_owned()),
                None if part.contains(|character: char| {
                    character.is_whitespace() || character.is_control() || "{}?#%".contains(character)
                }) =>
                {
                    return Err(format!("`{}` cannot be a part of a path", yaml_reader::shown(part)));
                }
                None => Part::Given(part.to_owned()),
            };
            route.parts.push(part);
        }
        Ok(route)
    }

    /// The path, with names in braces.
    pub(super) fn template(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Given(text) => format!("/{text}"),
            Part::Named(name) => format!("/{{{name}}}"),
        });
        let path: String = parts.collect();
        if path.is_empty() { "/".to_owned() } else { path }
    }

    /// The names in the path.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Named(name) => Some(name.as_str()),
            Part::Given(_) => None,
        })
    }

    /// The segment of a request's path at the position of this name.
    pub(super) fn value<'a>(&self, name: &str, segments: &'a [String]) -> Option<&'a str> {
        let place = self.parts.iter().position(|part| matches!(part, Part::Named(other) if other == name))?;
        segments.get(place).map(String::as_str)
    }

    /// Whether the same requests match both routes.
    pub(super) fn is_same(&self, other: &Route) -> bool {
        let shape = |route: &Route| {
            let given = |part: &Part| match part {
                Part::Given(text) => Some(text.clone()),
                Part::Named(_) => None,
            };
            route.parts.iter().map(given).collect::<Vec<_>>()
        };
        self.method == other.method && shape(self) == shape(other)
    }

    fn matches(&self, segments: &[String]) -> bool {
        let one = |(part, segment): (&Part, &String)| match part {
            Part::Given(text) => text == segment,
            Part::Named(_) => true,
        };
        self.parts.len() == segments.len() && self.parts.iter().zip(segments).all(one)
    }

    /// Ranks routes that match the same request: fixed segments first, from left to right.
    fn given(&self) -> Vec<bool> {
        self.parts.iter().map(|part| matches!(part, Part::Given(_))).collect()
    }
}

/// Finds the route of a request.
pub(super) fn find<'a>(
    routes: impl Iterator<Item = &'a Route>,
    method: &str,
    segments: &[String],
) -> RouteMatch {
    let fitting: Vec<(usize, &Route)> =
        routes.enumerate().filter(|(_, route)| route.matches(segments)).collect();
    if let Some((index, _)) =
        fitting.iter().filter(|(_, route)| route.method == method).max_by_key(|(_, route)| route.given())
    {
        return RouteMatch::Route(*index);
    }
    let mut methods: Vec<&'static str> = fitting.iter().map(|(_, route)| route.method).collect();
    methods.sort_unstable();
    methods.dedup();
    if methods.is_empty() { RouteMatch::NoRoute } else { RouteMatch::OtherMethods(methods) }
}

/// Whether a string can be a name.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 60
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(routes: &[&str], method: &str, path: &str) -> RouteMatch {
        let routes: Vec<Route> = routes.iter().map(|route| Route::read(route).unwrap()).collect();
        let segments: Vec<String> =
            path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        find(routes.iter(), method, &segments)
    }

    #[test]
    fn a_fixed_segment_is_preferred_to_a_named_one() {
        let routes = ["GET /tickets/{id}", "GET /tickets/mine", "GET /{kind}/mine", "GET /"];
        assert_eq!(found(&routes, "GET", "/tickets/mine"), RouteMatch::Route(1));
        assert_eq!(found(&routes, "GET", "/tickets/t1"), RouteMatch::Route(0));
        assert_eq!(found(&routes, "GET", "/notes/mine"), RouteMatch::Route(2));
        assert_eq!(found(&routes, "GET", "/"), RouteMatch::Route(3));
        assert_eq!(found(&routes, "GET", "/tickets"), RouteMatch::NoRoute);
        assert_eq!(found(&routes, "DELETE", "/tickets/t1"), RouteMatch::OtherMethods(vec!["GET"]));
    }

    #[test]
    fn an_invalid_route_is_refused() {
        for text in [
            "",
            "GET",
            "/tickets",
            "FETCH /tickets",
            "GET tickets",
            "GET //a",
            "GET /a/",
            "GET /{a}/{a}",
            "GET /{}",
            "GET /a{b}",
            "GET /a?b",
            "GET /a b",
        ] {
            assert!(Route::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn routes_that_differ_only_in_names_are_the_same() {
        let same = |one: &str, other: &str| Route::read(one).unwrap().is_same(&Route::read(other).unwrap());
        assert!(same("GET /a/{id}", "GET /a/{name}"));
        assert!(!same("GET /a/{id}", "POST /a/{id}"));
        assert!(!same("GET /a/{id}", "GET /a/b"));
    }
}
