import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { Badge } from '../kit/panel.tsx'

export function StatusBadge({ record }: { record: DomainRecord }) {
  const { status, reason, certificate } = record
  if (status === 'pending') return <Badge tone="warn">Pending</Badge>
  const isWell = reason === null && certificate.problem === null
  return <Badge tone={isWell ? 'good' : 'warn'}>Active</Badge>
}
