const { useServices } = require("hapax/jest");
const { define } = require("./ends.cjs");

define(test, useServices(["payment"]));
