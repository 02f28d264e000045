#!/usr/bin/env node
// An example of a Phyllo client in Node.js: @grpc/grpc-js reads the .proto files as they are.
//
// As a library:
//   const {PhylloClient} = require("./phyllo_client");
//   const client = new PhylloClient("127.0.0.1:50050");
//   for await (const text of client.generate("Once upon a time", {temperature: 0, max_new_tokens: 50})) process.stdout.write(text);
//
// As a program:
//   node phyllo_client.js generate "Once upon a time" --seed 7
//   node phyllo_client.js chat
"use strict";

const path = require("path");
const readline = require("readline");
const {parseArgs} = require("util");

const grpc = require("@grpc/grpc-js");
const protoLoader = require("@grpc/proto-loader");

const PROTO_ROOT = process.env.PHYLLO_PROTO_ROOT || path.join(__dirname, "..", "..", "proto");

// Names as in the .proto files; 64-bit integers as strings, so that a seed keeps all its digits. What a server leaves out, because it is empty or zero,
// is there all the same.
const definition = protoLoader.loadSync("phyllo/gateway/v1/gateway.proto", {
  includeDirs: [PROTO_ROOT],
  keepCase: true,
  defaults: true,
  longs: String,
  enums: String,
  oneofs: true,
});
const {GatewayService} = grpc.loadPackageDefinition(definition).phyllo.gateway.v1;

const fieldsOf = (name) => new Set(definition[name].type.field.map((field) => field.name));
const SAMPLING = fieldsOf("phyllo.common.v1.SamplingParameters");
const STOPPING = fieldsOf("phyllo.common.v1.StoppingParameters");
const EMBEDDING = fieldsOf("phyllo.gateway.v1.EmbedRequest");

// A GenerateRequest. `prompt` is a text, an array of token ids, or an array of {role, content}. `parameters` are fields of SamplingParameters or
// StoppingParameters (common/v1/sampling.proto), and `stop_sequences`; what is not given is not sent, and takes the model's default.
// Throws a TypeError for a name that is in neither.
function makeRequest(prompt, parameters = {}) {
  const request = {};
  if (typeof prompt === "string") {
    request.text = prompt;
  } else if (prompt.every(Number.isInteger)) {
    request.token_ids = {ids: prompt};
  } else {
    request.chat = {messages: prompt};
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (name === "stop_sequences") {
      request.stop_sequences = value;
      continue;
    }
    const group = SAMPLING.has(name) ? "sampling" : STOPPING.has(name) ? "stopping" : null;
    if (group === null) throw new TypeError(`there is no parameter "${name}"`);
    request[group] = {...request[group], [name]: value};
  }
  return request;
}

// The text of one generation, piece by piece, by `for await`; `finished` (generate.proto) is set when it has ended. Leaving the loop early cancels.
class Answer {
  constructor(call) {
    this.call = call;
    this.finished = null;
  }

  async *[Symbol.asyncIterator]() {
    try {
      for await (const message of this.call) {
        if (message.kind === "delta") yield message.delta.text;
        if (message.kind === "finished") this.finished = message.finished;
      }
    } finally {
      this.call.cancel();
    }
  }
}

// Owns a connection to a gateway ("host:port" or "unix:PATH"). Errors are grpc-js errors: code, details.
class PhylloClient {
  constructor(address) {
    this.stub = new GatewayService(address, grpc.credentials.createInsecure(), {"grpc.max_receive_message_length": 64 << 20});
  }

  close() {
    this.stub.close();
  }

  // Streams an answer; see makeRequest. `timeout` is in milliseconds.
  generate(prompt, parameters = {}, {timeout} = {}) {
    const options = timeout === undefined ? {} : {deadline: Date.now() + timeout};
    return new Answer(this.stub.Generate(makeRequest(prompt, parameters), options));
  }

  // One vector (an array of numbers) for each text. `options` are fields of EmbedRequest: dimensions, normalize, ... Throws a TypeError for another name.
  async embed(texts, options = {}) {
    for (const name of Object.keys(options)) {
      if (!EMBEDDING.has(name)) throw new TypeError(`there is no option "${name}"`);
    }
    return (await this.unary("Embed", {texts, ...options})).vectors.map((vector) => vector.values);
  }

  async tokenize(text) {
    return (await this.unary("Tokenize", {text})).token_ids;
  }

  async detokenize(tokenIds) {
    return (await this.unary("Detokenize", {token_ids: tokenIds})).text;
  }

  // The model's GetModelResponse (gateway.proto).
  model() {
    return this.unary("GetModel", {});
  }

  unary(method, request) {
    return new Promise((resolve, reject) => {
      this.stub[method](request, (error, response) => (error ? reject(error) : resolve(response)));
    });
  }
}

// Prints the pieces as they come; returns the whole text.
async function printAnswer(answer) {
  let text = "";
  for await (const piece of answer) {
    text += piece;
    process.stdout.write(piece);
  }
  process.stdout.write("\n");
  return text;
}

async function chat(client, parameters) {
  const turns = [];
  const lines = readline.createInterface({input: process.stdin});
  for await (const line of lines) {
    turns.push({role: "user", content: line});
    turns.push({role: "assistant", content: await printAnswer(client.generate(turns, parameters))});
  }
}

const USAGE = `usage: phyllo_client.js [options] generate PROMPT    continues a text
       phyllo_client.js [options] chat               talks, one turn a line

  --address ADDRESS       of the gateway: host:port or unix:PATH (default 127.0.0.1:50050)
  --temperature T         0 takes the most likely token
  --seed N                repeats an answer
  --max-new-tokens N      ends an answer after so many tokens
  -h, --help              prints this`;

// The values of the command line: {help}, or {address, parameters, command, prompt}. Throws an Error that says what is wrong with it.
function parseCommandLine(args) {
  const {values, positionals} = parseArgs({
    args,
    allowPositionals: true,
    options: {
      "address": {type: "string", default: "127.0.0.1:50050"},
      "temperature": {type: "string"},
      "seed": {type: "string"},
      "max-new-tokens": {type: "string"},
      "help": {type: "boolean", short: "h"},
    },
  });
  if (values.help) return {help: true};
  const parameters = {};
  const take = (option, name, isValid, convert) => {
    const text = values[option];
    if (text === undefined) return;
    if (!isValid(text)) throw new Error(`--${option}: "${text}" is not a number that can be used`);
    parameters[name] = convert(text);
  };
  const isWhole = (text, bits) => /^\d+$/.test(text) && BigInt(text) < 1n << BigInt(bits);
  take("temperature", "temperature", (text) => /^(\d+\.?\d*|\.\d+)$/.test(text), Number);
  take("seed", "seed", (text) => isWhole(text, 64), String);
  take("max-new-tokens", "max_new_tokens", (text) => isWhole(text, 31), Number);
  const [command, ...words] = positionals;
  if (command !== "generate" && command !== "chat") {
    throw new Error(`the command must be generate or chat${command === undefined ? "" : `, not ${command}`}`);
  }
  if (words.length !== (command === "generate" ? 1 : 0)) {
    throw new Error(command === "generate" ? "generate takes one PROMPT; put quotes around its words" : "chat takes no arguments");
  }
  return {address: values.address, parameters, command, prompt: words[0]};
}

async function main() {
  let line;
  try {
    line = parseCommandLine(process.argv.slice(2));
  } catch (error) {
    console.error(`phyllo_client.js: ${error.message}\nTry --help.`);
    process.exitCode = 2;
    return;
  }
  if (line.help) {
    console.log(USAGE);
    return;
  }
  process.stdout.on("error", () => process.exit(1)); // nobody reads any more
  const client = new PhylloClient(line.address);
  try {
    if (line.command === "chat") {
      await chat(client, line.parameters);
    } else {
      await printAnswer(client.generate(line.prompt, line.parameters));
    }
  } catch (error) {
    console.error(`${grpc.status[error.code] || "ERROR"}: ${error.details || error.message}`);
    process.exitCode = 1;
  } finally {
    client.close();
  }
}

module.exports = {PhylloClient, makeRequest};

if (require.main === module) main();
