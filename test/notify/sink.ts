/** A receiver on loopback that behaves as a script says, and keeps what it got. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Behave = (response: ServerResponse, received: Received, index: number) => void;

export interface Sink {
  url: string;
  port: number;
  received: Received[];
  connections(): number;
}

/** Answers 204 unless told otherwise. */
export async function sink(t: { after(fn: () => Promise<void>): void }, behave?: Behave): Promise<Sink> {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined); // the client left: what it had sent is not complete
    request.on("end", () => {
      const one: Received = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      };
      received.push(one);
      if (behave) behave(response, one, received.length - 1);
      else response.writeHead(204).end();
    });
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  t.after(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  });
  return {
    url: `http://127.0.0.1:${port}/hook/path-${port}?key=k-${port}`,
    port,
    received,
    connections: () => connections,
  };
}
