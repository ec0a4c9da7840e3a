import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import { ApiError } from '../../server/lib/errors.ts'
import type { ArchiveKind } from '../../server/publish/archive/archive.ts'
import { type ReadOptions, read, used } from './reading.ts'

interface Refusal extends ReadOptions {
  code: string
  says: RegExp
  /** How many files may have been handed on before. */
  before?: number
}

export async function assertRefused(
  kind: ArchiveKind,
  source: Buffer | Readable,
  refusal: Refusal,
): Promise<void> {
  await expectRefusal(kind, source, refusal)
}

export async function expectRefusal(
  kind: ArchiveKind,
  source: Buffer | Readable,
  refusal: Refusal,
): Promise<ApiError> {
  const { code, says, limits, before = Number.POSITIVE_INFINITY, each = used } = refusal
  let calls = 0
  const promise = read(kind, source, {
    ...(limits ? { limits } : {}),
    each(file) {
      calls++
      return each(file)
    },
  })
  const failure = await promise.then(
    () => assert.fail('the archive was taken'),
    (error) => error,
  )
  assert.ok(failure instanceof ApiError, String(failure.stack))
  assert.equal(failure.code, code, failure.message)
  assert.match(failure.message, says)
  assert.ok(calls <= before, `${calls} files were handed on`)
  if (code === 'VALIDATION_ERROR') {
    const [problem] = failure.details as { field: string; message: string }[]
    assert.ok(problem && failure.message.startsWith(`${problem.field}: ${problem.message}`))
  }
  return failure
}
