import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from '../support/listen.ts'

export interface ReceivedSpan {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  kind: number
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
  status: { code?: number }
}

/** A collector of traces: OTLP over HTTP, in JSON. */
export class OtlpReceiver implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = []
  url = ''
  readonly #server: Server

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver()
    receiver.url = `http://127.0.0.1:${await listen(receiver.#server)}`
    return receiver
  }

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const { resourceSpans } = JSON.parse(await text(request)) as {
        resourceSpans: { scopeSpans: { spans: ReceivedSpan[] }[] }[]
      }
      if (request.url === '/v1/traces')
        this.spans.push(
          ...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
        )
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
    })
  }

  /** The spans of the trace of a span. */
  traceOf({ traceId }: ReceivedSpan): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
