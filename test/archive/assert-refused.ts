import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import { ApiError } from '../../server/lib/errors.ts'
import type { ArchiveKind } from '../../server/publish/archive/archive.ts'
import { drain, type ReadOptions, read } from './reading.ts'

interface Refusal extends ReadOptions {
  code: string
  message: RegExp
  /** Maximum number of files that may be passed on before the error. */
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
  const { code, message, limits, before = Number.POSITIVE_INFINITY, each = drain } = refusal
  let calls = 0
  const promise = read(kind, source, {
    ...(limits ? { limits } : {}),
    each(file) {
      calls++
      return each(file)
    },
  })
  const failure = await promise.then(
    () => assert.fail('the archive was accepted'),
    (error) => error,
  )
  assert.ok(failure instanceof ApiError, String(failure.stack))
  assert.equal(failure.code, code, failure.message)
  assert.match(failure.message, message)
  assert.ok(calls <= before, `${calls} files were passed on`)
  if (code === 'VALIDATION_ERROR') {
    const [problem] = failure.details as { field: string; message: string }[]
    assert.ok(problem && failure.message.startsWith(`${problem.field}: ${problem.message}`))
  }
  return failure
}
