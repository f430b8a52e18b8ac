//! What a scenario itself makes happen, before a subject is told of it. It is decided and applied like any request, but
//! it is not an attempt: no fault applies to it, nobody waits for it, and it is nobody's effect.

use super::Engine;
use super::core::Core;
use crate::delivery::{AnswerDelivery, Delivery, Origin};
use crate::service::{Answer, Decision, Request, Service, ServiceEvent};

/// The caller that stands for the scenario. Its port is opened only where a scenario needs it.
pub(crate) const SCENARIO: u32 = 0;

/// The name of the note of an effect that the scenario made happen. Fields: `effect`, `id`, and `fields` as JSON.
pub(crate) const HAPPENED: &str = "happened";

impl<S: Service> Engine<S> {
    /// Processes a request of the scenario.
    pub(super) async fn happen(&self, request: Request, origin: Origin) -> AnswerDelivery<'static> {
        let service = self.service();
        let number = self.scenario_requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let context = self.context(origin, number);
        let mut answer = match service.recognize(&request, &context) {
            Err(answer) => answer,
            Ok(recognized) => {
                self.enter(|core| match core.decide(&recognized.call, &context) {
                    Decision::Refuse(refusal) => refusal.answer,
                    Decision::Accept(accepted) => {
                        accepted.changes().for_each(|effect| core.happen(effect));
                        accepted.answer
                    }
                })
                .await
            }
        };
        service.add_standard_headers(&mut answer, &request, &context);
        delivered(answer)
    }

    /// What the service has sent to the receivers of its events.
    pub(crate) async fn events(&self) -> Vec<ServiceEvent> {
        self.enter(|core: &mut Core<S>| core.events()).await
    }
}

fn delivered(answer: Answer) -> AnswerDelivery<'static> {
    AnswerDelivery { answer, how: Delivery::default(), pending: None }
}
