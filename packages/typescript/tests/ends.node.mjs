import { test } from "node:test";
import { useServices } from "hapax/node-test";
import { define } from "./ends.cjs";

define(test, useServices(["payment"]));
