import { type EntityOf, integer, Table, text } from '../table.ts'
/** The key of TLS session tickets of one period, by its number since 1970; sealed. */
export const ticketKeyTable = new Table({
  period: integer,
  key: text,
})

export type TicketKey = EntityOf<typeof ticketKeyTable>

export interface TicketKeyQueries {
  find(period: number): Promise<TicketKey | undefined>

  /** Stores a key, and replaces one of the same period. */
  put(key: TicketKey): Promise<void>

  dropBefore(period: number): Promise<void>
}
