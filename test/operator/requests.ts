import { once } from 'node:events'
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface OperatorResponse {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  json: any
  /** The port at this end of the connection: whoever answered knows it too. */
  connection: number
}

export interface Question {
  method?: string
  /** Of a site, without its domain; the service itself when left out. */
  site?: string
  path?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

/** Asks over a connection of its own and waits for the whole answer; rejects when there is none. */
export async function ask(port: number, question: Question): Promise<OperatorResponse> {
  const asked = begin(port, question)
  asked.end(question.body)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  return toResponse(asked, response)
}

/** The answer once `toRight`: asks again and again, each time over a new connection. */
export async function askUntil(
  port: number,
  question: Question,
  isRight: (answer: OperatorResponse) => boolean,
): Promise<OperatorResponse> {
  for (;;) {
    const answer = await ask(port, question)
    if (isRight(answer)) return answer
  }
}

/** A request whose head has reached the service, and whose body waits in this process. */
export class HeldRequest implements Disposable {
  readonly #request: ClientRequest
  readonly #body: Buffer
  #sent = 0

  /** Resolves when the service has begun with it. */
  static async begin(port: number, question: Question & { body: Buffer }): Promise<HeldRequest> {
    const { body } = question
    const headers = { ...question.headers, 'Content-Length': String(body.length), Expect: '100-continue' }
    const asked = begin(port, { ...question, headers })
    asked.flushHeaders()
    await once(asked, 'continue')
    return new HeldRequest(asked, body)
  }

  private constructor(asked: ClientRequest, body: Buffer) {
    this.#request = asked
    this.#body = body
    // Whoever waits for the answer hears of it; whoever does not need not care.
    asked.on('error', () => undefined)
  }

  /** Sends some bytes more. */
  async send(bytes: number): Promise<void> {
    const part = this.#body.subarray(this.#sent, this.#sent + bytes)
    this.#sent += part.length
    await new Promise((resolve) => this.#request.write(part, resolve))
  }

  /** Sends the rest and waits for the whole answer. */
  async finish(): Promise<OperatorResponse> {
    const responding = once(this.#request, 'response')
    this.#request.end(this.#body.subarray(this.#sent))
    const [response] = (await responding) as [IncomingMessage]
    return toResponse(this.#request, response)
  }

  /** What comes of it when nothing more is sent: an answer, or undefined when the connection just ends. */
  async outcome(): Promise<OperatorResponse | undefined> {
    return new Promise((resolve, reject) => {
      this.#request.on('response', (response) => toResponse(this.#request, response).then(resolve, reject))
      this.#request.on('error', () => resolve(undefined))
    })
  }

  [Symbol.dispose](): void {
    this.#request.destroy()
  }
}

/** Connections are kept by this end as long as the other one keeps them. */
function begin(port: number, { method = 'GET', site, path = '/', headers = {} }: Question): ClientRequest {
  const host = site === undefined ? `localhost:${port}` : `${site}.localhost:${port}`
  return request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { host, Connection: 'keep-alive', ...headers },
    agent: false,
  })
}

async function toResponse(asked: ClientRequest, response: IncomingMessage): Promise<OperatorResponse> {
  const connection = asked.socket!.localPort!
  const body = await buffer(response)
  const isJson = /\bjson\b/.test(response.headers['content-type'] ?? '')
  return {
    status: response.statusCode!,
    headers: response.headers,
    body,
    json: isJson ? JSON.parse(body.toString()) : undefined,
    connection,
  }
}
