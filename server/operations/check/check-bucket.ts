import type { BucketFacts } from '../../blobs/s3/inspect.ts'
import type { CheckResult } from './check-result.ts'

const REMEDIES: Record<string, string> = {
  put: 'check the URL, the credentials and their right s3:PutObject',
  read: 'the credentials need the right s3:GetObject',
  'read a range': 'a proxy in front of the server must pass Range headers',
  list: 'the credentials need the right s3:ListBucket',
  delete: 'the credentials need the right s3:DeleteObject',
}

export function checkBucket({ works, failed, comparesHashes }: BucketFacts): CheckResult[] {
  const name = 'bucket'
  if (failed) {
    const { action, reason } = failed
    const remedy = REMEDIES[action]
    const message = `SLIPWAY_BLOBS_URL: cannot ${action}: ${reason}${remedy ? `; ${remedy}` : ''}`
    return [{ name, status: 'failed', message }]
  }
  const results: CheckResult[] = [{ name, status: 'ok', message: `${works.join(', ')}: all work` }]
  if (!comparesHashes) {
    const message =
      'the server stores bytes that differ from their hash; wrong ones are found when they are read'
    results.push({ name: 'bucket hashes', status: 'warning', message })
  }
  return results
}
