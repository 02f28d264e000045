// Tests phyllo_client.js against a gateway that is started as $FAKE_GATEWAY, and says "listen ADDRESS".
"use strict";

const assert = require("node:assert");
const {spawn, spawnSync} = require("node:child_process");
const {once} = require("node:events");
const {after, before, test} = require("node:test");

const grpc = require("@grpc/grpc-js");
const {PhylloClient, makeRequest} = require("./phyllo_client");

const PROGRAM = require.resolve("./phyllo_client");

let gateway, address, client;

before(async () => {
  gateway = spawn(process.env.FAKE_GATEWAY, {stdio: ["ignore", "pipe", "inherit"]});
  const line = await new Promise((resolve) => gateway.stdout.once("data", (data) => resolve(String(data))));
  address = line.trim().split(" ")[1];
  client = new PhylloClient(address);
});

after(() => {
  client.close();
  gateway.kill("SIGKILL");
});

async function collect(answer) {
  const pieces = [];
  for await (const piece of answer) pieces.push(piece);
  return pieces;
}

function program(args, input) {
  return spawnSync(process.execPath, [PROGRAM, "--address", address, ...args], {input, encoding: "utf8"});
}

test("generate streams pieces", async () => {
  const answer = client.generate("a b c");
  assert.deepStrictEqual(await collect(answer), ["a ", "b ", "c "]);
  assert.strictEqual(answer.finished.usage.generated_token_count, "3");
  assert.strictEqual(answer.finished.finish_reason, "FINISH_REASON_EOS");
});

test("chat sends turns", async () => {
  assert.deepStrictEqual(await collect(client.generate([{role: "user", content: "x y"}])), ["x ", "y "]);
});

test("token ids are a prompt", async () => {
  assert.deepStrictEqual(await collect(client.generate([7, 8])), ["7 ", "8 "]);
});

test("only given parameters are sent", () => {
  assert.deepStrictEqual(makeRequest("a", {temperature: 0, max_new_tokens: 5, stop_sequences: ["\n"]}), {
    text: "a",
    sampling: {temperature: 0},
    stopping: {max_new_tokens: 5},
    stop_sequences: ["\n"],
  });
});

test("an unknown parameter is an error", () => {
  assert.throws(() => makeRequest("a", {temprature: 1}), /temprature/);
});

test("a server's error has code and message", async () => {
  await assert.rejects(collect(client.generate("fail")), {code: grpc.status.INVALID_ARGUMENT, details: "told to fail"});
});

test("leaving the loop ends an endless answer", async () => {
  for await (const piece of client.generate("forever")) {
    assert.strictEqual(piece, "x");
    break;
  }
});

test("a timeout ends an endless answer", async () => {
  await assert.rejects(collect(client.generate("forever", {}, {timeout: 200})), {code: grpc.status.DEADLINE_EXCEEDED});
});

test("embed gives a vector for each text", async () => {
  assert.deepStrictEqual(await client.embed(["ab", "c"], {normalize: false}), [[2, 97], [1, 99]]);
});

test("tokenize and detokenize", async () => {
  assert.deepStrictEqual(await client.tokenize("ab"), [97, 98]);
  assert.strictEqual(await client.detokenize([97, 98]), "ab");
});

test("what is empty is there", async () => {
  assert.deepStrictEqual(await client.tokenize(""), []);
  assert.strictEqual(await client.detokenize([]), "");
});

test("an unknown option of embed is an error", async () => {
  await assert.rejects(client.embed(["ab"], {dimension: 1}), /dimension/);
});

test("the model is described", async () => {
  assert.strictEqual((await client.model()).model, "fake");
});

test("the program prints the answer", () => {
  assert.strictEqual(program(["generate", "a b"]).stdout, "a b \n");
});

test("the program chats", () => {
  assert.strictEqual(program(["chat"], "one\ntwo\n").stdout, "one \ntwo \n");
});

test("the program ends when nobody reads", async () => {
  const running = spawn(process.execPath, [PROGRAM, "--address", address, "generate", "forever"], {stdio: ["ignore", "pipe", "pipe"]});
  let errors = "";
  running.stderr.on("data", (data) => (errors += data));
  running.stdout.once("data", () => running.stdout.destroy());
  const [status] = await once(running, "close");
  assert.strictEqual(status, 1);
  assert.strictEqual(errors, "");
});

test("the program reports an error", () => {
  const done = program(["generate", "fail"]);
  assert.strictEqual(done.status, 1);
  assert.match(done.stderr, /INVALID_ARGUMENT: told to fail/);
});

test("--help says how to use the program", () => {
  const done = program(["--help"]);
  assert.strictEqual(done.status, 0);
  assert.match(done.stdout, /^usage: /);
  assert.match(done.stdout, /--max-new-tokens N/);
});

for (const [args, message] of [
  [[], /the command must be generate or chat/],
  [["talk"], /not talk/],
  [["generate"], /one PROMPT/],
  [["generate", "two", "words"], /one PROMPT/],
  [["chat", "x"], /no arguments/],
  [["--temprature", "1", "chat"], /temprature/],
  [["--temperature", "hot", "chat"], /--temperature: "hot" is not a number/],
  [["--seed", "18446744073709551616", "chat"], /--seed: "18446744073709551616"/],
  [["--max-new-tokens", "1.5", "chat"], /--max-new-tokens: "1.5"/],
]) {
  test(`the program refuses: ${args.join(" ")}`, () => {
    const done = program(args);
    assert.strictEqual(done.status, 2);
    assert.match(done.stderr, message);
    assert.doesNotMatch(done.stderr, /    at /, "a stack trace");
  });
}
