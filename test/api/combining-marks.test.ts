import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Api, expectFailure } from './api.ts'
import { assertPublished, buildTar, createPending, send } from './bundle-fixture.ts'
import { toManifest } from './content.ts'

/** Two combining marks that Unicode NFC reorders. */
const MARKS = '\u0301\u0323'
const ORDERED = '\u0323\u0301'

/** A letter with `count` pairs of marks, in both orders. */
const equivalentNames = (pairs: number) => [`x${MARKS.repeat(pairs)}`, `x${ORDERED.repeat(pairs)}`] as const

let api: Api
before(async () => {
  api = await Api.start()
})
after(() => api[Symbol.asyncDispose]())

describe('a letter with more combining marks than any script uses', () => {
  test('is compared without normalization, because sorting thousands of marks would block other requests', async () => {
    const owner = await api.account()
    const [one, other] = equivalentNames(20)
    const contents = { [one]: 'one', [other]: 'the other' }
    const pending = await createPending(owner, contents)
    const { status } = await send(api, pending, buildTar(contents))
    assert.equal(status, 200)
    await assertPublished(api, owner, pending, contents)
  })

  test('is normalized as long as it has few marks', async () => {
    const [one, other] = equivalentNames(2)
    const contents = { [one]: 'one', [other]: 'the other' }
    await expectFailure(api.anonymous.create({ files: toManifest(contents) }), 'VALIDATION_ERROR')
  })
})
