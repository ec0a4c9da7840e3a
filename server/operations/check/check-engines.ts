import type { BucketFacts } from '../../blobs/s3/inspect.ts'
import { SECOND_MS } from '../../lib/time.ts'
import { MAX_CLOCK_OFFSET_MS } from '../fleet/nodes.ts'
import { type CheckResult, failed, ok, warning } from './check-result.ts'

const REMEDIES: Record<string, string> = {
  put: 'check the URL, the credentials and their right s3:PutObject',
  read: 'the credentials need the right s3:GetObject',
  'read a range': 'a proxy in front of the server must pass Range headers',
  list: 'the credentials need the right s3:ListBucket',
  delete: 'the credentials need the right s3:DeleteObject',
}

export function checkBucket({ works, failed: failure, comparesHashes }: BucketFacts): CheckResult[] {
  const name = 'bucket'
  if (failure) {
    const { action, reason } = failure
    const remedy = REMEDIES[action]
    return [failed(name, `SLIPWAY_BLOBS_URL: cannot ${action}: ${reason}${remedy ? `; ${remedy}` : ''}`)]
  }
  const found = ok(name, `${works.join(', ')}: all work`)
  if (comparesHashes) return [found]
  const message =
    'the server stores bytes that differ from their hash; wrong ones are found when they are read'
  return [found, warning('bucket hashes', message)]
}

/** Whether the certificate authority can be used, and whether its clock is that of this machine. */
export async function checkAuthority(
  url: string,
  inspect: () => Promise<{ clockOffsetMs: number }>,
): Promise<CheckResult[]> {
  const name = 'certificate authority'
  try {
    const { clockOffsetMs } = await inspect()
    return [ok(name, `${url} answers`), checkClock('the certificate authority', clockOffsetMs)]
  } catch (error) {
    return [failed(name, `SLIPWAY_ACME_URL=${url}: ${(error as Error).message}`)]
  }
}

const USUAL_CLOCK_OFFSET_MS = 2 * SECOND_MS

export function checkClock(other: string, offsetMs: number): CheckResult {
  const offset = Math.abs(offsetMs)
  const found = `this machine and ${other} differ by ${(offset / SECOND_MS).toFixed(1)} s`
  if (offset > MAX_CLOCK_OFFSET_MS)
    return failed(
      'clock',
      `${found}: synchronize both with NTP; S3 and certificate authorities refuse requests`,
    )
  if (offset > USUAL_CLOCK_OFFSET_MS) return warning('clock', `${found}: synchronize both with NTP`)
  return ok('clock', found)
}
