//! `POST /v1/tokens` and `GET /v1/tokens/{id}`: a card's number, exchanged for something that pays once.

use std::sync::Arc;

use super::expand::Expand;
use super::{Call, Outcome, World};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::effects::Change;
use crate::payment::errors::{Problem, Refused, not_found};
use crate::payment::objects::{CardSource, Token};
use crate::payment::params::Params;
use crate::payment::source::Instrument;
use crate::service::Fields;

/// A token that is to be made.
#[derive(Debug)]
pub(crate) struct Create {
    card: Instrument,
}

impl Create {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check_done(&[allowed::TOKEN, allowed::COMMON], allowed::TOKEN_LACKING, "POST /v1/tokens")?;
        Expand::of_kind(params, "token")?;
        fields.set("type", "card");
        let nothing = || {
            Box::new(Problem::invalid(
                "You must supply either a card, customer, or bank account to create a token.",
            ))
        };
        Ok(Create { card: Instrument::of_card(params)?.ok_or_else(nothing)? })
    }
}

impl Call for Create {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let card = world.look_up(&self.card)?.card;
        let source = CardSource { id: world.id("card_1", 23), customer: None, card };
        let token =
            Arc::new(Token { id: world.id("tok_1", 23), card: source, created: world.now(), used: false });
        Ok(Outcome { answer: answers::made(Arc::clone(&token)), changes: vec![Change::TokenSaved(token)] })
    }
}

/// One token by its id.
#[derive(Debug)]
pub(crate) struct Get {
    id: String,
}

impl Get {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::COMMON])?;
        Expand::of_kind(params, "token")?;
        fields.set("object", "token");
        fields.set("id", id.as_str());
        Ok(Get { id })
    }
}

impl Call for Get {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let token = world.state.tokens.get(&self.id).ok_or_else(|| not_found("token", &self.id))?;
        Ok(Outcome::read(answers::ok(&**token)))
    }
}
