"""Which requests are of steps that operators have paused, in SQL. See docs/adr/0067."""

from orders.engine.branches import SEPARATOR

ANY_PAUSE = "EXISTS (SELECT 1 FROM orders_steppause)"
"""Asked once by a statement, before it looks at any request: nearly always nothing is paused."""
NOT_BEGUN = "(deliveries = settled_deliveries AND (deliveries = 0 OR NOT is_repeat))"
"""That no agent host has begun the request. A host that gave it back before it had called has not."""
OF_A_PAUSED_STEP = f"""(NOT compensates AND (
                       SELECT pause.id
                         FROM orders_steppause AS pause
                        WHERE pause.step = split_part(orders_agentrequest.step, '{SEPARATOR}', 1)
                          AND (pause.until IS NULL OR pause.until > clock_timestamp())
                          AND pause.workflow = (SELECT process.workflow FROM orders_orderprocess AS process
                                                 WHERE process.order_id = orders_agentrequest.order_id)
                   ) IS NOT NULL)"""
"""That the request is a forward call of a step that is paused. Not a join, so that a claim is planned as without it."""
