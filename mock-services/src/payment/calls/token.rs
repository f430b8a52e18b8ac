//! `POST /v1/tokens` and `GET /v1/tokens/{id}`: a card number exchanged for a single-use token.

use std::sync::Arc;

use super::expand::Expand;
use super::{ApiCall, CallContext, CallOutcome};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{PaymentError, Refused, not_found};
use crate::payment::objects::{CardSource, Token};
use crate::payment::params::Params;
use crate::payment::source::Instrument;
use crate::service::Fields;

/// A token to create.
#[derive(Debug)]
pub(crate) struct CreateToken {
    card: Instrument,
}

impl CreateToken {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check_supported(
            &[allowed::TOKEN, allowed::COMMON],
            allowed::TOKEN_UNSUPPORTED,
            "POST /v1/tokens",
        )?;
        Expand::of_kind(params, "token")?;
        fields.set("type", "card");
        let nothing = || {
            Box::new(PaymentError::invalid(
                "You must supply either a card, customer, or bank account to create a token.",
            ))
        };
        Ok(CreateToken { card: Instrument::of_card(params)?.ok_or_else(nothing)? })
    }
}

impl ApiCall for CreateToken {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let card = context.look_up(&self.card)?.card;
        let source = CardSource { id: context.id("card_1", 23), customer: None, card };
        let token = Arc::new(Token {
            id: context.id("tok_1", 23),
            card: source,
            created: context.now(),
            used: false,
        });
        Ok(CallOutcome {
            answer: answers::created(Arc::clone(&token)),
            changes: vec![PaymentChange::TokenSaved(token)],
        })
    }
}

/// One token by its id.
#[derive(Debug)]
pub(crate) struct GetToken {
    id: String,
}

impl GetToken {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::COMMON])?;
        Expand::of_kind(params, "token")?;
        fields.set("object", "token");
        fields.set("id", id.as_str());
        Ok(GetToken { id })
    }
}

impl ApiCall for GetToken {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let token = context.state.tokens.get(&self.id).ok_or_else(|| not_found("token", &self.id))?;
        Ok(CallOutcome::read(answers::ok(&**token)))
    }
}
