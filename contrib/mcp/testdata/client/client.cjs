// The checks of TestTypeScriptClient: how the server looks to a client that is
// not written in Go.
//
//   node client.cjs stdio PROGRAM
//   node client.cjs http URL TOKEN
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { CallToolResultSchema } = require("@modelcontextprotocol/sdk/types.js");

const [kind, target, token] = process.argv.slice(2);
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "mcp-client-"));

function newTransport() {
  if (kind === "stdio") {
    return new StdioClientTransport({ command: target, cwd: dir, env: process.env });
  }
  return new StreamableHTTPClientTransport(new URL(target), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
    fetch: fetchOrCut,
  });
}

// fetchOrCut is fetch. If cut is set, it cuts off the answer to the next tool
// call after its first part.
let cut = false;
async function fetchOrCut(url, init) {
  const res = await fetch(url, init);
  if (!cut || !String(init.body).includes("tools/call")) {
    return res;
  }
  cut = false;
  const reader = res.body.getReader();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue((await reader.read()).value);
      await reader.cancel();
      controller.close();
    },
  });
  return new Response(body, res);
}

// lateAnswer is the error for the answer to a canceled call. The SDK of the
// server sends that answer all the same, and this client does not know the call
// any more.
const lateAnswer = /unknown message ID.*SIGTERM/;

// connect returns a client. Its errors are other faults that it finds in the
// messages of the server.
async function connect() {
  const client = new Client({ name: "typescript", version: "1" });
  client.errors = [];
  client.onerror = (err) => {
    if (!lateAnswer.test(err.message)) {
      client.errors.push(err.message);
    }
  };
  await client.connect(newTransport());
  client.leave = async () => {
    if (kind === "http") {
      await client.transport.terminateSession();
    }
    await client.close();
  };
  return client;
}

// call returns the JSON object of a tool's answer.
async function call(client, name, args, options) {
  const res = await client.callTool({ name, arguments: args }, CallToolResultSchema, options);
  assert.equal(res.content.length, 1);
  assert.equal(res.content[0].type, "text");
  return { isError: res.isError === true, ...JSON.parse(res.content[0].text) };
}

// until waits until a condition holds.
async function until(what, holds) {
  for (let i = 0; i < 1000; i++) {
    if (await holds()) {
      return;
    }
    await sleep(20);
  }
  assert.fail(`never: ${what}`);
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const checks = {
  async list(client) {
    assert.equal(client.getServerVersion().name, "toolproc");
    assert.match(client.getInstructions(), /process_id/);
    const { tools } = await client.listTools();
    const hints = Object.fromEntries(tools.map((t) => [t.name, t.annotations.readOnlyHint]));
    assert.deepEqual(hints, { execute: false, process_output: true, process_list: true, process_signal: false });
    const execute = tools.find((t) => t.name === "execute");
    assert.deepEqual(execute.inputSchema.required, ["command"]);
    assert.ok(execute.description.length > 100);
    assert.ok(execute.inputSchema.properties.timeout.description);
  },

  async call(client) {
    const res = await call(client, "execute", { command: "echo 'ä <&>'; exit 3" });
    assert.equal(res.isError, false);
    assert.equal(res.success, false);
    assert.equal(res.exit_code, 3);
    assert.equal(res.output, "ä <&>\n");
  },

  async "bad arguments"(client) {
    const res = await call(client, "execute", { cmd: "ls" });
    assert.equal(res.isError, true);
    assert.match(res.error, /it is called "command"/);
  },

  // Without progress, the client would give up after 1.5 s.
  async progress(client) {
    const told = [];
    let over = false;
    const res = await call(
      client,
      "execute",
      { command: "for i in 1 2 3 4 5; do echo step $i; sleep 0.6; done", timeout: "1m" },
      {
        timeout: 1500,
        resetTimeoutOnProgress: true,
        onprogress: (p) => {
          assert.equal(over, false);
          told.push(p);
        },
      },
    );
    over = true;
    assert.equal(res.success, true);
    assert.ok(told.length >= 3, `${told.length} notifications`);
    for (const [i, p] of told.entries()) {
      assert.match(p.message, /^step [1-5]$/);
      assert.ok(i === 0 || p.progress > told[i - 1].progress);
    }
  },

  async cancel(client) {
    const file = path.join(dir, "canceled");
    const controller = new AbortController();
    const answer = call(client, "execute", { command: `echo $$ > ${file}.new; mv ${file}.new ${file}; exec sleep 1000`, timeout: "1h" }, { signal: controller.signal });
    await until("the command has begun", () => fs.existsSync(file));
    controller.abort("no longer wanted");
    await assert.rejects(answer, /no longer wanted/);
    const pid = Number(fs.readFileSync(file, "utf8"));
    await until("the command has been stopped", () => !alive(pid));
    await until("the server says so", async () => {
      const { processes } = await call(client, "process_list", {});
      return processes.every((p) => p.state === "exited");
    });
  },

  async "lost connection"(client) {
    cut = kind === "http";
    const file = path.join(dir, "runs");
    const res = await call(client, "execute", { command: `echo ran >> ${file}; sleep 0.5; echo done` });
    assert.equal(cut, false);
    assert.equal(res.output, "done\n");
    assert.equal(fs.readFileSync(file, "utf8"), "ran\n");
  },

  async "two sessions"(client) {
    const other = await connect();
    const { process_id: id } = await call(client, "execute", { command: "exec sleep 1000", run_in_background: true });
    const res = await call(other, "execute", { command: "echo $$; exec sleep 1000", run_in_background: true });
    const ours = (await call(client, "process_list", {})).processes.map((p) => p.process_id);
    assert.ok(ours.includes(id));
    assert.ok(!ours.includes(res.process_id));
    const theirs = (await call(other, "process_list", {})).processes.map((p) => p.process_id);
    assert.deepEqual(theirs, [res.process_id]);
    for (const [name, args] of [
      ["process_output", { process_id: id }],
      ["process_signal", { process_id: id, signal: "kill" }],
    ]) {
      const res = await call(other, name, args);
      assert.equal(res.isError, true);
      assert.match(res.error, /there is no process/);
    }
    const pid = Number((await call(other, "process_output", { process_id: res.process_id, wait_for: "." })).output);
    assert.ok(alive(pid));
    assert.deepEqual(other.errors, []);
    await other.leave();
    await until("the other's process has ended with its session", () => !alive(pid));
    const still = await call(client, "process_output", { process_id: id, wait_timeout: "0s" });
    assert.equal(still.state, "running");
  },
};

async function main() {
  const client = await connect();
  for (const [name, check] of Object.entries(checks)) {
    await check(client);
    assert.deepEqual(client.errors, [], name);
    console.log(`ok ${kind}: ${name}`);
  }
  await client.leave();
}

main()
  .catch((err) => {
    console.error(err);
    process.exitCode = 1;
  })
  .finally(() => {
    fs.rmSync(dir, { recursive: true, force: true });
    process.exit(); // a connection may still be open
  });
