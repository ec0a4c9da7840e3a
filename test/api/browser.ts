import assert from 'node:assert/strict'
import type { Api } from './api.ts'

/** A browser that is signed in, and what it sends from then on. */
export interface SignedIn {
  cookie: string
  /** What the service said of the cookie, in order. */
  attributes: string
  /** Of a call that a page of ours makes. */
  headers: Record<string, string>
}

/** Signs a browser in, as somebody who types the mailed code. */
export async function browser(api: Api, { email }: { email: string }, userAgent?: string): Promise<SignedIn> {
  await api.anonymous.requestCode(email)
  const code = await api.running.mailedCode(email)
  const answer = await api.ask('POST', '/api/auth/session', {
    json: { email, code },
    headers: userAgent === undefined ? {} : { 'user-agent': userAgent },
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
