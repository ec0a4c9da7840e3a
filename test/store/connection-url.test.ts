import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConnectionUrl } from '../../server/store/postgres/connection-url.ts'

const FILE = `&sslrootcert=${import.meta.filename}`

for (const [query, isChecked, checksName] of [
  ['sslmode=require', false, false],
  [`sslmode=require${FILE}`, true, false],
  ['sslmode=verify-ca', true, false],
  [`sslmode=verify-ca${FILE}`, true, false],
  [`sslmode=verify-full${FILE}`, true, true],
] as const)
  test(`${query.replace(/=\/.*/, '')} checks ${isChecked ? 'the certificate' : 'nothing'}${checksName ? ' and its name' : ''}`, () => {
    const ssl = parseConnectionUrl(`postgres://one.example/slipway?${query}`).config.ssl
    assert.ok(typeof ssl === 'object')
    assert.equal(ssl.rejectUnauthorized, isChecked)
    if (isChecked) assert.equal(ssl.checkServerIdentity === undefined, checksName)
    assert.equal(ssl.ca !== undefined, query.includes(FILE))
  })
