/** Binary units in bytes. */
export const KIB = 2 ** 10
export const MIB = 2 ** 20
export const GIB = 2 ** 30
