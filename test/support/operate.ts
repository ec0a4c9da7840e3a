import assert from 'node:assert/strict'
import { sendRequest } from './http-client.ts'

/** Sends a change below `/api/admin/` with a key of the scope `admin`, which must succeed. */
export async function operate(
  { port, key }: { port: number; key: string },
  method: string,
  path: string,
  json: object = {},
): Promise<void> {
  const body = JSON.stringify(json)
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': `${Buffer.byteLength(body)}`,
  }
  const { status, text } = await sendRequest(port, { method, path: `/api/admin/${path}`, headers, body })
  assert.ok(status < 300, text)
}
