import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Api, expectFailure } from './api.ts'
import { toManifest } from './content.ts'
import { buildTar, isPublished, send, waitingFor } from './one-bundle.ts'

/** Two marks that stand in the other order in Unicode NFC. */
const MARKS = '\u0301\u0323'
const ORDERED = '\u0323\u0301'

/** A letter with so many pairs of marks, in both orders. */
const twins = (pairs: number) => [`x${MARKS.repeat(pairs)}`, `x${ORDERED.repeat(pairs)}`] as const

let api: Api
before(async () => {
  api = await Api.start()
})
after(() => api[Symbol.asyncDispose]())

describe('a letter with more marks than any writing has', () => {
  test('is compared as it is written: to put thousands of them in order would keep everybody waiting', async () => {
    const owner = await api.account()
    const [one, other] = twins(20)
    const contents = { [one]: 'one', [other]: 'the other' }
    const waiting = await waitingFor(owner, contents)
    const { status } = await send(api, waiting, buildTar(contents))
    assert.equal(status, 200)
    await isPublished(api, owner, waiting, contents)
  })

  test('and one with fewer is the same in every order', async () => {
    const [one, other] = twins(2)
    const contents = { [one]: 'one', [other]: 'the other' }
    await expectFailure(api.anonymous.create({ files: toManifest(contents) }), 'VALIDATION_ERROR')
  })
})
