// Uses the types that openapi-typescript makes, with openapi-fetch: `node of_typescript.ts cancel|order`.
// Ends with status 0 if the shop at ORDERS_URL does what its document says.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { env, argv } from "node:process";
import createClient from "openapi-fetch";
import type { components, paths } from "./orders.d.ts";

type Order = components["schemas"]["Order"];
type NewOrder = components["schemas"]["NewOrderRequest"];
type Problem = components["schemas"]["Problem"];

const queue = "typescript";
const ended: Order["state"][] = ["processed", "compensated", "error"];
const client = createClient<paths>({
  baseUrl: env["ORDERS_URL"] ?? "",
  headers: { Authorization: `Token ${env["ORDERS_TOKEN"]}` },
});

async function newOrder(changes: { sku?: string; card?: string }): Promise<NewOrder> {
  const { data } = await client.GET("/api/v1/products");
  const first = data?.results[0];
  assert(first);
  return {
    lines: [{ sku: changes.sku ?? first.sku, quantity: 1 }],
    ship_to: {
      name: "Ada Lovelace",
      street: "12 St James's Square",
      city: "London",
      postal_code: "SW1Y 4JH",
      country: "GB",
    },
    email: "ada@example.com",
    payment_method: changes.card ?? "card_ok",
    // What has a default must be there in these types.
    workflow: "fulfil-order",
    subject: "",
    priority: 5,
  };
}

// Places an order twice with one key, as after a lost response, and once more beside one that is refused. It is one
// order, which costs what its quote says.
async function place(body: NewOrder): Promise<Order> {
  const key = randomUUID();
  const params = { header: { "Idempotency-Key": key } };
  const first = await client.POST("/api/v1/orders", { params, body });
  const second = await client.POST("/api/v1/orders", { params, body });
  assert(first.data, JSON.stringify(first.error));
  assert.equal(second.data?.id, first.data.id);
  assert.equal(second.response.headers.get("Idempotent-Replayed"), "true");
  const other = { idempotency_key: "another", order: await newOrder({ sku: "no-such-poster" }) };
  const batch = await client.POST("/api/v1/orders/batch", {
    body: { orders: [{ idempotency_key: key, order: body }, other] },
  });
  assert(batch.data, JSON.stringify(batch.error));
  const [replayed, refused] = batch.data.results;
  assert.deepEqual([replayed?.status, replayed?.order_id, replayed?.replayed], [202, first.data.id, true]);
  assert.equal(refused?.problem?.errors?.[0]?.pointer, "/orders/1/order/lines/0/sku");
  const quote = await client.POST("/api/v1/orders/quote", { body });
  assert.deepEqual(quote.data?.total, first.data.total);
  return first.data;
}

// Reads an order whenever it has changed, until it has ended or waits for its customer.
async function follow(orderId: string): Promise<Order> {
  const header: { Prefer: string; "If-None-Match"?: string } = { Prefer: "wait=10" };
  for (let reading = 0; reading < 100; reading++) {
    const { data, response } = await client.GET("/api/v1/orders/{order_id}", {
      params: { path: { order_id: orderId }, header },
    });
    if (response.status === 304) continue;
    assert(data);
    if (ended.includes(data.state) || data.waiting_for === "customer") return data;
    header["If-None-Match"] = response.headers.get("ETag") ?? "";
  }
  throw new Error(`order ${orderId} does not end`);
}

// Cancels an order that nobody has taken yet.
async function cancel(): Promise<void> {
  const placed = await place(await newOrder({}));
  const { data } = await client.POST("/api/v1/orders/{order_id}/cancel", {
    params: { path: { order_id: placed.id } },
  });
  assert.equal(data?.id, placed.id);
  assert.equal(data.goal, "compensate");
}

// Follows the cancelled order and two others to their ends, of which one is paid for in another way.
async function order(): Promise<void> {
  const { data: first } = await client.GET("/api/v1/orders");
  const cancelled = first?.results[0];
  assert(cancelled);
  assert.equal((await follow(cancelled.id)).state, "compensated");

  const done = await follow((await place(await newOrder({}))).id);
  assert.equal(done.state, "processed");

  const body = { ...(await newOrder({ card: "card_declined" })), reply_to: queue };
  const declined = await follow((await place(body)).id);
  assert.equal(declined.waiting_for, "customer");
  assert.deepEqual(declined.steps.flatMap((step) => step.error?.code ?? []), ["card_declined"]);
  const payment = await client.POST("/api/v1/orders/{order_id}/payment", {
    params: { path: { order_id: declined.id } },
    body: { payment_method: "card_ok" },
  });
  assert.equal(payment.data?.id, declined.id);
  const paid = await follow(declined.id);
  assert.equal(paid.state, "processed");

  const { data: page } = await client.GET("/api/v1/orders", {
    params: { query: { state: ["processed", "error"], expand: ["steps"] } },
  });
  assert.deepEqual(page?.results.map((entry) => entry.id), [paid.id, done.id]);
  assert.deepEqual(page?.results.map((entry) => entry.steps), [paid.steps, done.steps]);
  assert.deepEqual(await readMessages(paid.id), ["received", "started", "payment_declined", "completed"]);
  await beRefused();
}

// Reads the messages about an order, deletes them, and returns what they say.
async function readMessages(orderId: string): Promise<string[]> {
  const path = { name: queue };
  const messages = "/api/v1/response-queues/{name}/messages";
  const { data: page } = await client.GET(messages, { params: { path, query: { wait: 10 } } });
  assert(page);
  for (const message of page.results) {
    assert.equal(message.order_id, orderId);
    const { response } = await client.DELETE(`${messages}/{message_id}`, {
      params: { path: { ...path, message_id: message.id } },
    });
    assert.equal(response.status, 204);
  }
  const { data: rest } = await client.GET(messages, { params: { path } });
  assert.deepEqual(rest?.results, []);
  return page.results.map((message) => message.kind);
}

// Orders what nobody sells.
async function beRefused(): Promise<void> {
  const { error } = await client.POST("/api/v1/orders", { body: await newOrder({ sku: "no-such-poster" }) });
  const problem: Problem | undefined = error;
  assert.equal(problem?.code, "validation_failed");
  assert.deepEqual(problem.errors?.map((mistake) => mistake.pointer), ["/lines/0/sku"]);
}

await (argv[2] === "cancel" ? cancel() : order());
