import { useServices } from "hapax/vitest";
import { test } from "vitest";
import { define } from "./ends.cjs";

define(test, useServices(["payment"]));
