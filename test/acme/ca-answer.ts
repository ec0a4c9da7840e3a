import type { IncomingMessage, ServerResponse } from 'node:http'

/** An answer of a CA: what is no text goes as JSON. A function answers by itself, or does not. */
export type CaResponse =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  | ((request: IncomingMessage, response: ServerResponse) => void)

/** A problem document (RFC 7807, RFC 8555, 6.7). */
export function problem(
  status: number,
  type: string,
  detail: string,
  headers: Record<string, string> = {},
): CaResponse {
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: { type: `urn:ietf:params:acme:error:${type}`, detail, status },
  }
}

/** Headers of the answer go before the `ordinary` ones. */
export function send(
  answer: CaResponse,
  request: IncomingMessage,
  response: ServerResponse,
  ordinary: Record<string, string>,
): void {
  if (typeof answer === 'function') {
    answer(request, response)
    return
  }
  const { status, headers = {}, body } = answer
  response.writeHead(status, { 'content-type': 'application/json', ...ordinary, ...headers })
  response.end(typeof body === 'object' ? JSON.stringify(body) : (body as string | undefined))
}
