/** How a list is sorted: the newest, the largest or the most visited first. */
export const LIST_ORDERS = ['age', 'bytes', 'visits'] as const
export type ListOrder = (typeof LIST_ORDERS)[number]
