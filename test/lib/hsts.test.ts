import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maySendHsts } from '../../server/lib/hsts.ts'

test('only a public service at the default port of HTTPS tells browsers to use only HTTPS', () => {
  for (const url of ['https://slipway.example', 'https://slipway.example/'])
    assert.equal(maySendHsts(url), true, url)
  for (const url of [
    'http://slipway.example',
    'https://slipway.example:8443',
    'https://localhost',
    'https://nas.lan',
  ])
    assert.equal(maySendHsts(url), false, url)
})
