import type { HttpRequest, HttpResponse, RequestBody, Transport } from '../../client/sdk/transport.ts'
import { toSameOrigin, transport } from '../api/slipway.ts'

/** Milliseconds without a byte in either direction after which an upload fails. */
const INACTIVITY_TIMEOUT_MS = 60_000

const UPLOADS = '/api/v1/_upload/'

/** The page's transport, with upload progress, which `fetch` does not report. */
export const uploadTransport: Transport = (request) =>
  toSameOrigin(request.url).startsWith(UPLOADS) ? sendUpload(request) : transport(request)

function sendUpload({ method, url, headers, body, signal, onSent }: HttpRequest): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const inactivity = new InactivityTimer(() => request.abort())
    const stop = () => request.abort()
    request.open(method, toSameOrigin(url))
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.addEventListener('progress', ({ loaded }) => {
      inactivity.reset()
      onSent?.(loaded)
    })
    request.addEventListener('loadend', () => {
      inactivity.end()
      signal?.removeEventListener('abort', stop)
      if (request.status > 0) resolve(toHttpResponse(request))
      else reject(signal?.aborted ? signal.reason : new TypeError('the connection broke'))
    })
    signal?.addEventListener('abort', stop)
    if (signal?.aborted) reject(signal.reason)
    else request.send(toXhrBody(body))
  })
}

function toHttpResponse(request: XMLHttpRequest): HttpResponse {
  return {
    status: request.status,
    header: (name) => request.getResponseHeader(name),
    text: async () => request.responseText,
    async *bytes() {
      yield new TextEncoder().encode(request.responseText)
    },
  }
}

function toXhrBody(body: RequestBody | undefined): XMLHttpRequestBodyInit | null {
  if (body === undefined) return null
  if (typeof body === 'string' || body instanceof Blob) return body
  // Developer tools copy sent bytes, except those of a Blob.
  if (body instanceof Uint8Array) return new Blob([body as Uint8Array<ArrayBuffer>])
  throw new TypeError('browsers send no streams here')
}

/** Detects inactivity. */
class InactivityTimer {
  readonly #onTimeout: () => void
  #timer: ReturnType<typeof setTimeout>

  constructor(onTimeout: () => void) {
    this.#onTimeout = onTimeout
    this.#timer = setTimeout(onTimeout, INACTIVITY_TIMEOUT_MS)
  }

  reset(): void {
    this.end()
    this.#timer = setTimeout(this.#onTimeout, INACTIVITY_TIMEOUT_MS)
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
