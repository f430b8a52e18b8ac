// This test must fail: its fault does not fire.
const { useServices } = require("hapax/jest");

const services = useServices(["payment"]);

test("a fault that does not fire", () => services.fault({ on: "payment.charge", reply: "drop" }));

test("the next test has no fault", () => services.checkFaults());
