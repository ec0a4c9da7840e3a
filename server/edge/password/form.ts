import type { IncomingMessage } from 'node:http'
import { findSendQueue } from '../../../packages/http-server/clients/send-queue.ts'
import type { HttpRequest } from '../../../packages/http-server/http-handler.ts'
import { GrowingBuffer } from '../../../packages/http-server/memory/growing-buffer.ts'
import { readParameters } from '../../lib/parameters.ts'
import type { ErrorPages } from '../respond/pages/error-pages.ts'
import type { EdgeResponse } from '../response.ts'

/** The longest target of a request, of which each byte takes three in a form, and a password. */
const MAX_FORM_BYTES = 64 * 1024

const FORM_TIMEOUT_MS = 15_000

/** The fields of a posted form, or its rejection. The connection closes when the form is incomplete. */
export async function readForm(
  request: IncomingMessage,
  { formTooLarge, formUnsupported }: ErrorPages,
): Promise<URLSearchParams | EdgeResponse> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') return formUnsupported.for(request.headers)
  if (Number(request.headers['content-length'] ?? 0) > MAX_FORM_BYTES)
    return formTooLarge.for(request.headers)
  const tooLong = setTimeout(() => request.destroy(), FORM_TIMEOUT_MS)
  try {
    const bytes = await readBody(request)
    if (!bytes) return formTooLarge.for(request.headers)
    return readParameters(bytes.toString())
  } finally {
    clearTimeout(tooLong)
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const form = new GrowingBuffer()
  const queue = findSendQueue(request.socket)
  let held = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (form.length + chunk.length > MAX_FORM_BYTES) return undefined
      held += chunk.length
      queue?.addRequest(chunk.length)
      form.append(chunk)
    }
    return form.take()
  } finally {
    queue?.addRequest(-held)
  }
}

/**
 * Whether no page of another site has sent it. Browsers send Fetch Metadata over HTTPS only, and the origin of a form
 * always. A proxy may send the host without its port.
 */
export function isOwnForm({ host }: HttpRequest, { headers }: IncomingMessage): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return true
  const sender = URL.parse(origin)
  return sender !== null && (sender.host === host || sender.hostname === host)
}

/** Anything that a browser could read as another host becomes `/`. */
export function safeRedirectTarget(next: string | null | undefined): string {
  return next && /^\/(?!\/)[!-[\]-~]*$/.test(next) ? next : '/'
}
