import { formatBytes, formatNumber } from '../../protocol/format.ts'
import { RelativeTime } from '../kit/time.tsx'
import type { Column } from './record-table.tsx'

/** Columns that several lists have. */
export const bytesColumn: Column<{ bytes: number }> = {
  name: 'Size',
  isNumber: true,
  show: ({ bytes }) => formatBytes(bytes),
}

export const visitsColumn: Column<{ visits: number }> = {
  name: 'Visits, 30 days',
  isNumber: true,
  show: ({ visits }) => formatNumber(visits),
}

export const createdColumn: Column<{ createdAt: string }> = {
  name: 'Created',
  show: ({ createdAt }) => <RelativeTime at={createdAt} />,
}

export const ownerColumn: Column<{ owner: { email: string } | null }> = {
  name: 'Owner',
  show: ({ owner }) =>
    owner ? (
      <a href={`/admin/accounts?q=${encodeURIComponent(owner.email)}`}>
        <bdi>{owner.email}</bdi>
      </a>
    ) : (
      <span class="quiet">Anonymous</span>
    ),
}
