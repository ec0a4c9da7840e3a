import assert from 'node:assert/strict'
import type { Api } from './api.ts'

/** A signed-in browser: its cookie and the headers of its requests. */
export interface SignedIn {
  cookie: string
  /** The attributes of the cookie, sorted. */
  attributes: string
  /** Headers of a request from a page of the service. */
  headers: Record<string, string>
}

/** Signs a browser in with a code sent by email. */
export async function browser(
  api: Api,
  { email }: { email: string },
  userAgent?: string,
  before: Partial<SignedIn> = {},
): Promise<SignedIn> {
  await api.anonymous.requestCode(email)
  const code = await api.running.mailedCode(email)
  const answer = await api.request('POST', '/api/auth/session', {
    json: { email, code },
    headers: { ...before.headers, ...(userAgent !== undefined && { 'user-agent': userAgent }) },
  })
  assert.equal(answer.status, 200)
  const [cookie, ...others] = answer.headers['set-cookie']!
  assert.equal(others.length, 0)
  const [pair, ...attributes] = cookie!.split('; ')
  return {
    cookie: pair!,
    attributes: attributes.sort().join('; '),
    headers: { cookie: pair!, origin: api.baseUrl },
  }
}
