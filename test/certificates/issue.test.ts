import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ChallengeType } from '../../server/certificates/acme/acme.ts'
import { requires } from '../tools/part.ts'
import { issueAndRenew } from './issue.ts'

// Few names with shortened pauses; `npm run issue` is the long form.

const TYPES: ChallengeType[] = ['http-01', 'tls-alpn-01', 'dns-01']
const COUNT = 8

describe('a real CA that refuses nonces', { ...requires('pebble', 'curl'), concurrency: true }, () => {
  for (const type of TYPES) {
    test(`issues and renews the certificates of all names by ${type} alone`, async () => {
      const figures = await issueAndRenew({ ca: 'pebble', type, count: COUNT, delay: 0, speedup: 20 })
      const { issued, renewed, accounts, problems } = figures
      assert.deepEqual([issued, renewed, accounts], [COUNT, COUNT, 1], [...problems.keys()].join('\n'))
    })
  }
})
