import { once } from 'node:events'
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface HttpResponse {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests check its fields
  json: any
  /** The local port of the connection, which the responding process also knows. */
  connection: number
}

export interface RequestSpec {
  method?: string
  /** The slug of a site; by default the request is for the service itself. */
  site?: string
  path?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

/** Sends a request on a new connection and reads the whole response; rejects when there is none. */
export async function sendRequest(port: number, spec: RequestSpec): Promise<HttpResponse> {
  const outgoing = begin(port, spec)
  outgoing.end(spec.body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return toResponse(outgoing, response)
}

/** Sends a GET request to the service at the port of a URL, whatever its host name. */
export function getUrl(address: string): Promise<HttpResponse> {
  const { host, port, pathname, search } = new URL(address)
  return sendRequest(Number(port), { path: pathname + search, headers: { host } })
}

/** A request whose head is sent and whose body is held back. */
export class HeldRequest implements Disposable {
  readonly #request: ClientRequest
  readonly #body: Buffer
  #sent = 0

  /** Resolves when the service has received the head. */
  static async begin(port: number, spec: RequestSpec & { body: Buffer }): Promise<HeldRequest> {
    const { body } = spec
    const headers = { ...spec.headers, 'Content-Length': String(body.length), Expect: '100-continue' }
    const outgoing = begin(port, { ...spec, headers })
    outgoing.flushHeaders()
    await once(outgoing, 'continue')
    return new HeldRequest(outgoing, body)
  }

  private constructor(outgoing: ClientRequest, body: Buffer) {
    this.#request = outgoing
    this.#body = body
  }

  /** Sends the next bytes of the body. */
  async send(bytes: number): Promise<void> {
    const part = this.#body.subarray(this.#sent, this.#sent + bytes)
    this.#sent += part.length
    await new Promise((resolve) => this.#request.write(part, resolve))
  }

  /** Sends the rest and reads the whole response. */
  async finish(): Promise<HttpResponse> {
    const responding = once(this.#request, 'response')
    this.#request.end(this.#body.subarray(this.#sent))
    const [response] = (await responding) as [IncomingMessage]
    return toResponse(this.#request, response)
  }

  /** Waits without sending more: returns the response, or undefined when the connection ends without one. */
  async outcome(): Promise<HttpResponse | undefined> {
    return new Promise((resolve, reject) => {
      this.#request.on('response', (response) => toResponse(this.#request, response).then(resolve, reject))
      this.#request.on('error', () => resolve(undefined))
    })
  }

  [Symbol.dispose](): void {
    this.#request.destroy()
  }
}

/** Starts a request on a new keep-alive connection. */
function begin(port: number, { method = 'GET', site, path = '/', headers = {} }: RequestSpec): ClientRequest {
  const host = site === undefined ? `localhost:${port}` : `${site}.localhost:${port}`
  const outgoing = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { host, Connection: 'keep-alive', ...headers },
    agent: false,
  })
  // Awaiting the response rejects with this error; after the response it can be ignored.
  outgoing.on('error', () => undefined)
  return outgoing
}

async function toResponse(outgoing: ClientRequest, response: IncomingMessage): Promise<HttpResponse> {
  const connection = outgoing.socket!.localPort!
  const body = await buffer(response)
  const text = body.toString()
  const isJson = /\bjson\b/.test(response.headers['content-type'] ?? '')
  return {
    status: response.statusCode!,
    headers: response.headers,
    body,
    text,
    json: isJson ? JSON.parse(text) : undefined,
    connection,
  }
}
