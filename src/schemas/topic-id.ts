/** A topic's id as the cluster gave it (`OffsetReader.topicIds`), or as it was noted: empty or none is not known. */
export type TopicId = string | null | undefined

export const isKnownId = (id: TopicId): id is string => id !== undefined && id !== null && id !== ''

/** Whether the topic was made anew: both ids are known, and they differ. */
export const isOtherTopic = (before: TopicId, now: TopicId): boolean =>
  isKnownId(before) && isKnownId(now) && before !== now
