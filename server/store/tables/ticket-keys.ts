import { type EntityOf, integer, Table, text } from '../table.ts'

/** The key of TLS session tickets of one period, by its number since 1970; sealed. */
export const ticketKeyTable = new Table({ period: integer, key: text })

export type TicketKey = EntityOf<typeof ticketKeyTable>
